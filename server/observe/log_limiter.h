// SPDX-License-Identifier: Apache-2.0
//
// LogLimiter: how often an event may be logged, for events that clients or faults can repeat
// without end. An event has a burst of lines, and then so many a second; the first line after some
// were left out says how many. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_LOG_LIMITER_H_
#define VOXLOC_SERVER_OBSERVE_LOG_LIMITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::server {

class LogLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // A fleet of max_sessions' default that connects anew is logged whole, and an eighth of the
    // lines that wait for the log's thread is taken by one event at most.
    double burst = 1024.0;
    double per_second = 20.0;  // lines that a person can follow
  };

  explicit LogLimiter(const Options& options) : options_(options) {}

  // How many lines of the event were left out since its last one; nullopt: this one is left out
  // too. Events are names in the code, so there are few.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now) {
    return Admit(event, now, options_);
  }
  // Of an event with a burst and a rate of its own, the same every time.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now,
                                              const Options& options);

  // Of all events.
  [[nodiscard]] uint64_t left_out() const;

 private:
  struct Event {
    double tokens = 0.0;
    Clock::time_point at;
    uint64_t left_out = 0;
  };

  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Event, std::less<>> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_LOG_LIMITER_H_
