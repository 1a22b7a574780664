// SPDX-License-Identifier: Apache-2.0
//
// TimeoutWatch: one thread that polls many objects, for timeouts and periodic work. Each poll
// returns the time of the next one. A poll must be short; work that may block needs its own watch.
// Thread-safe. The watch must outlive its entries.

#ifndef VOXLOC_SERVER_SCHEDULING_TIMEOUT_WATCH_H_
#define VOXLOC_SERVER_SCHEDULING_TIMEOUT_WATCH_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class TimeoutWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  // What is watched.
  class Watched {
   public:
    virtual ~Watched() = default;
    // On the watch's thread: does what is due, and returns when to be called again.
    virtual Clock::time_point Poll(Clock::time_point now) = 0;
  };

  // The object is watched until its entry is destroyed, which the object may do itself.
  class Entry {
   public:
    Entry(TimeoutWatch& watch, uint64_t number) : watch_(watch), number_(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { watch_.Remove(number_); }

   private:
    TimeoutWatch& watch_;
    const uint64_t number_;
  };

  explicit TimeoutWatch(const std::string& thread_name = "timeouts");
  TimeoutWatch(const TimeoutWatch&) = delete;
  TimeoutWatch& operator=(const TimeoutWatch&) = delete;
  ~TimeoutWatch() { Stop(); }

  // Returns when no check runs; none runs afterwards. Called from one thread.
  void Stop();

  // `first`: when to check it for the first time. It is not kept alive.
  [[nodiscard]] std::unique_ptr<Entry> Add(std::weak_ptr<Watched> watched, Clock::time_point first);

 private:
  struct State {
    std::weak_ptr<Watched> watched;
    Clock::time_point due;
  };

  void Run();
  void Remove(uint64_t number);
  void Schedule(uint64_t number, Clock::time_point due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, State> entries_ ABSL_GUARDED_BY(mutex_);
  // Scheduled entries by time.
  std::set<std::pair<Clock::time_point, uint64_t>> due_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;  // the first due time has changed, or stopping_
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_TIMEOUT_WATCH_H_
