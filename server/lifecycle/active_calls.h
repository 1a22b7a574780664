// SPDX-License-Identifier: Apache-2.0
//
// ActiveCalls: counts the RPCs that have not ended, so that a drain can wait for the last one.
// Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
#define VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace voxloc::server {

class ActiveCalls {
 public:
  void Enter() {
    const absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Leave() {
    const absl::MutexLock lock(&mutex_);
    --count_;
  }

  // Returns when there is none, or when the time is over.
  void AwaitNone(absl::Duration timeout) {
    const absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    mutex_.AwaitWithTimeout(absl::Condition(&none), timeout);
  }

 private:
  absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_ACTIVE_CALLS_H_
