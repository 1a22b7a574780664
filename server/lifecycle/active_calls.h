// SPDX-License-Identifier: Apache-2.0
//
// ActiveCalls: counts the RPCs that have not ended, and knows those of them that can be asked to
// end, so that a drain can wait for the last one and end what stays. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
#define VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace voxloc::server {

// A call that lasts. Called from the drain's thread.
class DrainedCall {
 public:
  virtual ~DrainedCall() = default;
  // The server drains, and the endpoints know. Calls that would never end by themselves do so now.
  virtual void OnDrainBegun(const absl::Status& /*why*/) {}
  // The time is over: ends the call, after the answers to what has been received.
  virtual void OnDrainOver(const absl::Status& why) = 0;
  // Ends the call at once.
  virtual void CancelForDrain() = 0;
};

class ActiveCalls {
 public:
  // Until it is destroyed, the call is known. It must not outlive the ActiveCalls.
  class Entry {
   public:
    Entry(ActiveCalls& calls, uint64_t number) : calls_(calls), number_(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const absl::MutexLock lock(&calls_.mutex_);
      calls_.lasting_.erase(number_);
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

  [[nodiscard]] std::unique_ptr<Entry> Add(std::weak_ptr<DrainedCall> call) {
    const absl::MutexLock lock(&mutex_);
    lasting_.emplace(++last_number_, std::move(call));
    return std::make_unique<Entry>(*this, last_number_);
  }

  // Those that are known and alive.
  [[nodiscard]] std::vector<std::shared_ptr<DrainedCall>> Lasting() const {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::shared_ptr<DrainedCall>> calls;
    for (const auto& [number, call] : lasting_) {
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

  // Returns when there is none, or when the time is over. Whether there is none.
  bool AwaitNone(absl::Duration timeout) {
    const absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    return mutex_.AwaitWithTimeout(absl::Condition(&none), timeout);
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::weak_ptr<DrainedCall>> lasting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
