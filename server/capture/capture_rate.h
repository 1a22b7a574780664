// SPDX-License-Identifier: Apache-2.0
//
// CaptureRate: a token bucket that limits the captures per second. Thread-safe.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURE_RATE_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURE_RATE_H_

#include <algorithm>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class CaptureRate {
 public:
  using Clock = std::chrono::steady_clock;

  void Set(double per_second) {
    const absl::MutexLock lock(&mutex_);
    per_second_ = per_second;
    tokens_ = std::max(tokens_, 1.0);
  }

  // Takes a token if there is one. The bucket holds max(1, per_second) tokens.
  [[nodiscard]] bool Admit(Clock::time_point now) {
    const absl::MutexLock lock(&mutex_);
    const double elapsed_s = std::chrono::duration<double>(now - at_).count();
    at_ = std::max(at_, now);
    tokens_ =
        std::min(std::max(1.0, per_second_), tokens_ + per_second_ * std::max(0.0, elapsed_s));
    if (tokens_ < 1.0) return false;
    tokens_ -= 1.0;
    return true;
  }

 private:
  absl::Mutex mutex_;
  double per_second_ ABSL_GUARDED_BY(mutex_) = 0.0;
  double tokens_ ABSL_GUARDED_BY(mutex_) = 0.0;
  Clock::time_point at_ ABSL_GUARDED_BY(mutex_) = Clock::now();
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURE_RATE_H_
