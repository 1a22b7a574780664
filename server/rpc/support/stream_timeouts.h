// SPDX-License-Identifier: Apache-2.0
//
// StreamTimeouts: the read and write timeouts of a stream. They run only while the server waits for
// the client: while a read or a write is pending. Not thread-safe: guarded by its stream's lock.

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

  void ReadStarted(Clock::time_point now) { reading_since_ = now; }
  void ReadEnded() {
    begun_ = true;
    reading_since_ = TimeoutWatch::kNever;
  }
  void WriteStarted(Clock::time_point now) { writing_since_ = now; }
  void WriteEnded() { writing_since_ = TimeoutWatch::kNever; }

  // Whether a first message has come.
  [[nodiscard]] bool begun() const { return begun_; }

  // DeadlineExceeded: no message has arrived in time.
  [[nodiscard]] absl::Status CheckRead(Clock::time_point now) const {
    if (now < ReadDeadline()) return absl::OkStatus();
    const double timeout_s = begun_ ? idle_s_ : open_s_;
    return WithReason(
        absl::DeadlineExceededError(absl::StrCat(begun_ ? "a" : "the first",
                                                 " message must arrive within ", timeout_s, " s")),
        begun_ ? "IDLE_TIMEOUT" : "OPEN_TIMEOUT", {{"timeout_s", absl::StrCat(timeout_s)}});
  }

  // Whether the message that is being written has not been taken in time.
  [[nodiscard]] bool WriteTimedOut(Clock::time_point now) const { return now >= WriteDeadline(); }

  // The earliest later time at which a timeout can expire; ones that have expired are ignored.
  [[nodiscard]] Clock::time_point NextCheck(Clock::time_point now) const {
    // What begins after now.
    Clock::time_point next = After(now, idle_s_);
    if (!begun_) next = std::min(next, After(now, open_s_));
    for (const Clock::time_point by : {ReadDeadline(), WriteDeadline()}) {
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
  [[nodiscard]] Clock::time_point ReadDeadline() const {
    return After(reading_since_, begun_ ? idle_s_ : open_s_);
  }
  [[nodiscard]] Clock::time_point WriteDeadline() const { return After(writing_since_, idle_s_); }

  double open_s_;
  double idle_s_;
  bool begun_ = false;
  Clock::time_point reading_since_ = TimeoutWatch::kNever;
  Clock::time_point writing_since_ = TimeoutWatch::kNever;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_STREAM_TIMEOUTS_H_
