// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_route.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/error_details.h"

namespace voxloc::client {

SessionRoute::SessionRoute(const Channel& channel, const ReconnectOptions& reconnect)
    : channel_(channel), round_(channel_), backoff_(reconnect) {}

std::optional<double> SessionRoute::NextAttempt(const StreamEnd& end) {
  error_ = end.status;
  return end.was_open ? AfterStream(end) : AfterRefusal(end.status);
}

std::optional<double> SessionRoute::AfterStream(const StreamEnd& end) {
  opened_once_ = true;
  backoff_.Reset();
  const bool drained = end.drained_s.has_value();
  const bool left = drained || WasCutOff(end.status);
  if (!left && !EndedForSilence(end.status)) return std::nullopt;
  if (left) channel_.impl().Leave(endpoint());
  if (!backoff_.MayTry()) return std::nullopt;
  const double wait_s = backoff_.NextWait(RetryAfterS(end.status).value_or(0.0));
  round_ = AddressRound(channel_);
  drained_s_ = end.drained_s.value_or(0.0);
  // A server that drains says so while another one is there, also behind the same name.
  const bool elsewhere = drained || (left && channel_.impl().endpoints.size() > 1);
  return elsewhere ? 0.0 : wait_s;
}

std::optional<double> SessionRoute::AfterRefusal(const absl::Status& refusal) {
  const bool silent =
      refusal.code() == absl::StatusCode::kDeadlineExceeded && channel_.impl().endpoints.size() > 1;
  if (silent) channel_.impl().Leave(endpoint());
  if (!silent && refusal.code() != absl::StatusCode::kUnavailable && !MayHelpElsewhere(refusal)) {
    return std::nullopt;
  }
  if (round_.Next(refusal)) return 0.0;
  error_ = round_.Refusal();
  if (!opened_once_ || !backoff_.MayTry()) return std::nullopt;
  const double asked_s = std::max(round_.RetryAfter_s(), std::exchange(drained_s_, 0.0));
  round_ = AddressRound(channel_);
  return backoff_.NextWait(asked_s);
}

absl::Status SessionRoute::error() const {
  if (error_.code() != absl::StatusCode::kUnavailable || backoff_.attempts() == 0) return error_;
  return absl::UnavailableError(absl::StrCat(error_.message(), " (gave up after ",
                                             backoff_.attempts(), " attempts to reconnect)"));
}

}  // namespace voxloc::client
