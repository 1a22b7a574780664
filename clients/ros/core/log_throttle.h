// SPDX-License-Identifier: Apache-2.0
//
// LogThrottle: the same thing at most once a second, by a clock that goes on when simulated time
// stands still. Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_LOG_THROTTLE_H_
#define VOXLOC_CLIENTS_ROS_CORE_LOG_THROTTLE_H_

#include <chrono>
#include <map>
#include <mutex>

#include "absl/strings/string_view.h"
#include "clients/ros/core/ports.h"

namespace voxloc::ros {

class LogThrottle {
 public:
  explicit LogThrottle(Log* log) : log_(log) {}

  // `kind`: a literal that says what it is about; there are as many as the sources have.
  void Write(const char* kind, LogLevel level, absl::string_view text) {
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto [last, is_new] = last_.emplace(kind, now);
      if (!is_new && now - last->second < std::chrono::seconds(1)) return;
      last->second = now;
    }
    log_->Write(level, text);
  }

 private:
  Log* log_;
  std::mutex mutex_;
  std::map<absl::string_view, std::chrono::steady_clock::time_point> last_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_LOG_THROTTLE_H_
