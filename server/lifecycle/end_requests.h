// SPDX-License-Identifier: Apache-2.0
//
// EndRequests: what a process that serves has been asked for: to reload or to end by the user's
// signals, and to end by its own server, which is to be started again. Thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_END_REQUESTS_H_
#define VOXLOC_SERVER_LIFECYCLE_END_REQUESTS_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class EndRequests {
 public:
  void Reload() {
    const absl::MutexLock lock(&mutex_);
    reload_ = true;
  }
  // A signal asks for the end. False: a signal has asked before, and this one does not wait.
  bool EndBySignal() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(end_, End::kBySignal) != End::kBySignal;
  }
  // The server asks for its end and for another in its place. Nothing, once a signal has asked.
  void EndForRestart() {
    const absl::MutexLock lock(&mutex_);
    if (end_ == End::kNone) end_ = End::kForRestart;
  }

  [[nodiscard]] bool ending() const {
    const absl::MutexLock lock(&mutex_);
    return end_ != End::kNone;
  }
  // Whether the process ends because the server asked for it, and no signal.
  [[nodiscard]] bool for_restart() const {
    const absl::MutexLock lock(&mutex_);
    return end_ == End::kForRestart;
  }
  // Waits for the next request. False: it is the end, with nothing to reload before.
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

#endif  // VOXLOC_SERVER_LIFECYCLE_END_REQUESTS_H_
