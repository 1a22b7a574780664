// SPDX-License-Identifier: Apache-2.0
//
// LifecycleRequests: the pending requests to the server's process: reload and shutdown by signals,
// and restart by the server itself. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_LIFECYCLE_REQUESTS_H_
#define VOXLOC_SERVER_LIFECYCLE_LIFECYCLE_REQUESTS_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class LifecycleRequests {
 public:
  void Reload() {
    const absl::MutexLock lock(&mutex_);
    reload_ = true;
  }
  // On a signal to end. False: it is not the first one, and the process should end at once.
  bool RequestShutdown() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(end_, End::kBySignal) != End::kBySignal;
  }
  // The server requests to be restarted. Ignored after a signal to end.
  void RequestRestart() {
    const absl::MutexLock lock(&mutex_);
    if (end_ == End::kNone) end_ = End::kForRestart;
  }

  [[nodiscard]] bool ending() const {
    const absl::MutexLock lock(&mutex_);
    return end_ != End::kNone;
  }
  // Whether the process ends for a restart, not by a signal.
  [[nodiscard]] bool for_restart() const {
    const absl::MutexLock lock(&mutex_);
    return end_ == End::kForRestart;
  }
  // Waits for the next request. True: reload. False: end.
  [[nodiscard]] bool AwaitReload() {
    const absl::MutexLock lock(&mutex_);
    const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return end_ != End::kNone || reload_;
    };
    mutex_.Await(absl::Condition(&any));
    return std::exchange(reload_, false);
  }

 private:
  enum class End { kNone, kForRestart, kBySignal };

  mutable absl::Mutex mutex_;
  bool reload_ ABSL_GUARDED_BY(mutex_) = false;
  End end_ ABSL_GUARDED_BY(mutex_) = End::kNone;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_LIFECYCLE_REQUESTS_H_
