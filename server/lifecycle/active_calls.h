// SPDX-License-Identifier: Apache-2.0
//
// ActiveCalls: counts the RPCs that have not ended, and lists those that a drain can end.
// Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
#define VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

// A stream, as the drain ends it. Called from the drain's thread.
class DrainableCall {
 public:
  virtual ~DrainableCall() = default;
  // The server drains, and endpoints have had time to notice. Streams without an end of their own
  // end now.
  virtual void OnDrainStarted(const absl::Status& /*why*/) {}
  // The drain's time is over: ends the call after the replies to what has been received.
  virtual void OnDrainDeadline(const absl::Status& why) = 0;
  // Ends the call at once.
  virtual void CancelForDrain() = 0;
};

class ActiveCalls {
 public:
  // Lists the call until it is destroyed. Must not outlive the ActiveCalls.
  class Entry {
   public:
    Entry(ActiveCalls& calls, uint64_t number) : calls_(calls), number_(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const absl::MutexLock lock(&calls_.mutex_);
      calls_.drainable_.erase(number_);
    }

   private:
    ActiveCalls& calls_;
    const uint64_t number_;
  };

  void Enter() {
    const absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Leave() {
    const absl::MutexLock lock(&mutex_);
    --count_;
    ++ended_;
  }

  [[nodiscard]] std::unique_ptr<Entry> Add(std::weak_ptr<DrainableCall> call) {
    const absl::MutexLock lock(&mutex_);
    drainable_.emplace(++last_number_, std::move(call));
    return std::make_unique<Entry>(*this, last_number_);
  }

  // The listed calls that are alive.
  [[nodiscard]] std::vector<std::shared_ptr<DrainableCall>> Drainable() const {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::shared_ptr<DrainableCall>> calls;
    for (const auto& [number, call] : drainable_) {
      if (auto alive = call.lock()) calls.push_back(std::move(alive));
    }
    return calls;
  }

  [[nodiscard]] int64_t count() const {
    const absl::MutexLock lock(&mutex_);
    return count_;
  }

  // How many have ended since the start.
  [[nodiscard]] int64_t ended() const {
    const absl::MutexLock lock(&mutex_);
    return ended_;
  }

  // Waits until no call is active, or for `timeout`. True: no call is active.
  bool AwaitIdle(absl::Duration timeout) {
    const absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    return mutex_.AwaitWithTimeout(absl::Condition(&none), timeout);
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::weak_ptr<DrainableCall>> drainable_ ABSL_GUARDED_BY(mutex_);
};

// MemoryTrim: returns freed memory to the system after a flood of calls (allocator.h). The trim
// locks the heap, so it waits until the flood is over. On the thread of a TimeoutWatch.
class MemoryTrim : public TimeoutWatch::Watched {
 public:
  // So many calls that have ended since the last trim are a flood, however fast they came: each
  // leaves 5 to 10 kB. It is over when fewer than kQuiet end between two polls.
  static constexpr int64_t kFlood = 1000;
  static constexpr int64_t kQuiet = kFlood / 10;

  // `calls` must outlive this. `trim` is called once after each flood, and again at the next poll
  // where it returns false. It must be short.
  MemoryTrim(const ActiveCalls& calls, std::function<bool()> trim)
      : calls_(calls), trim_(std::move(trim)) {}

  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  const ActiveCalls& calls_;
  const std::function<bool()> trim_;
  int64_t seen_ = 0;     // calls that had ended at the last poll
  int64_t trimmed_ = 0;  // at the last trim
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
