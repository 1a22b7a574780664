// SPDX-License-Identifier: Apache-2.0
//
// LogLimiter: a token bucket per log event, for events that clients or faults can repeat without
// end: a burst of lines, then a rate. The first line after a suppression reports the number of
// suppressed lines. Thread-safe.

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
    // Enough for the reconnects of a fleet of the default max_sessions, and an eighth of the queue
    // of the log's thread.
    double burst = 1024.0;
    double per_second = 20.0;  // lines that a person can follow
  };

  explicit LogLimiter(const Options& options) : options_(options) {}

  // Lines of the event suppressed since its last one; nullopt: suppress this one too. Events are
  // constants in the code, so there are few.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now) {
    return Admit(event, now, options_);
  }
  // Of an event with a burst and a rate of its own, the same every time.
  [[nodiscard]] std::optional<uint64_t> Admit(absl::string_view event, Clock::time_point now,
                                              const Options& options);

  // Of all events.
  [[nodiscard]] uint64_t suppressed() const;

 private:
  struct Event {
    double tokens = 0.0;
    Clock::time_point at;
    uint64_t suppressed = 0;
  };

  const Options options_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Event, std::less<>> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_LOG_LIMITER_H_
