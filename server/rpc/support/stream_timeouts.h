// SPDX-License-Identifier: Apache-2.0
//
// StreamTimeouts: for how long a stream has waited for its client, and whether that is too long.
// The times run only while it is the client's turn: while a message is awaited, and while one is
// being written. Not thread-safe: its stream locks.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_STREAM_TIMEOUTS_H_
#define VOXLOC_SERVER_RPC_SUPPORT_STREAM_TIMEOUTS_H_

#include <algorithm>
#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/config/config.h"
#include "server/errors/error_details.h"
#include "server/scheduling/timeout_watch.h"

namespace voxloc::server {

class StreamTimeouts {
 public:
  using Clock = TimeoutWatch::Clock;

  explicit StreamTimeouts(const Limits& limits)
      : open_s_(limits.open_timeout_s), idle_s_(limits.idle_timeout_s) {}

  void ReadingSince(Clock::time_point now) { reading_since_ = now; }
  void ReadingEnded() {
    begun_ = true;
    reading_since_ = TimeoutWatch::kNever;
  }
  void WritingSince(Clock::time_point now) { writing_since_ = now; }
  void WritingEnded() { writing_since_ = TimeoutWatch::kNever; }

  // Whether a first message has come.
  [[nodiscard]] bool begun() const { return begun_; }

  // DeadlineExceeded: no message has come in time.
  [[nodiscard]] absl::Status SendsNothing(Clock::time_point now) const {
    if (now < SendBy()) return absl::OkStatus();
    const double timeout_s = begun_ ? idle_s_ : open_s_;
    return WithReason(
        absl::DeadlineExceededError(absl::StrCat(begun_ ? "a" : "the first",
                                                 " message must arrive within ", timeout_s, " s")),
        begun_ ? "IDLE_TIMEOUT" : "OPEN_TIMEOUT", {{"timeout_s", absl::StrCat(timeout_s)}});
  }

  // Whether the message that is being written has not been taken in time.
  [[nodiscard]] bool TakesNothing(Clock::time_point now) const { return now >= TakeBy(); }

  // When the next time can be over; what is over now is not looked at.
  [[nodiscard]] Clock::time_point NextCheck(Clock::time_point now) const {
    // What begins after now.
    Clock::time_point next = After(now, idle_s_);
    if (!begun_) next = std::min(next, After(now, open_s_));
    for (const Clock::time_point by : {SendBy(), TakeBy()}) {
      if (by > now) next = std::min(next, by);
    }
    return next;
  }

 private:
  // Never, where there is no timeout.
  static Clock::time_point After(Clock::time_point since, double timeout_s) {
    if (since == TimeoutWatch::kNever || timeout_s == 0.0) return TimeoutWatch::kNever;
    return since +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  }
  [[nodiscard]] Clock::time_point SendBy() const {
    return After(reading_since_, begun_ ? idle_s_ : open_s_);
  }
  [[nodiscard]] Clock::time_point TakeBy() const { return After(writing_since_, idle_s_); }

  double open_s_;
  double idle_s_;
  bool begun_ = false;
  Clock::time_point reading_since_ = TimeoutWatch::kNever;
  Clock::time_point writing_since_ = TimeoutWatch::kNever;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_STREAM_TIMEOUTS_H_
