// SPDX-License-Identifier: Apache-2.0
//
// TimeoutWatch: asks many objects, each when it has to be asked, whether their time is over. One
// thread and one entry an object; what an object does meanwhile costs nothing here, because it says
// only when it is asked how long it has yet. What an object does when it is asked must be short, or
// it belongs to a watch of its own. Thread-safe. The watch must outlive its entries.

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
    // On the watch's thread: does what the time asks for, and returns when to be asked again.
    virtual Clock::time_point CheckTime(Clock::time_point now) = 0;
  };

  // Until it is destroyed, the object is watched. It may be destroyed by what it watches.
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
  ~TimeoutWatch();

  // Asks nobody any more, and holds nobody. By one thread; what is watched may go after it.
  void Stop();

  // `first`: when to ask for the first time. Nobody is asked once it is gone.
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
  // Of those that have a time to be asked.
  std::set<std::pair<Clock::time_point, uint64_t>> due_ ABSL_GUARDED_BY(mutex_);
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;  // another one is the first, or it is the end
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_TIMEOUT_WATCH_H_
