// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/error_details.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"

namespace voxloc::client {
namespace {

template <typename Message>
std::optional<Message> Detail(const absl::Status& status, absl::string_view url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(url);
  Message message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

std::optional<google::rpc::ErrorInfo> InfoOf(const absl::Status& status) {
  return Detail<google::rpc::ErrorInfo>(status, "type.googleapis.com/google.rpc.ErrorInfo");
}

}  // namespace

std::string ReasonOf(const absl::Status& status) {
  const std::optional<google::rpc::ErrorInfo> info = InfoOf(status);
  return info.has_value() ? info->reason() : std::string();
}

std::string ReasonValue(const absl::Status& status, const std::string& key) {
  const std::optional<google::rpc::ErrorInfo> info = InfoOf(status);
  if (!info.has_value()) return {};
  const auto found = info->metadata().find(key);
  return found == info->metadata().end() ? std::string() : found->second;
}

std::optional<double> RetryAfterS(const absl::Status& status) {
  const auto retry =
      Detail<google::rpc::RetryInfo>(status, "type.googleapis.com/google.rpc.RetryInfo");
  if (!retry.has_value()) return std::nullopt;
  return static_cast<double>(retry->retry_delay().seconds()) + 1e-9 * retry->retry_delay().nanos();
}

bool IsRetryableElsewhere(const absl::Status& refusal) {
  const std::string reason = ReasonOf(refusal);
  return reason == "TOO_MANY_SESSIONS" || reason == "TOO_MANY_UNOPENED_STREAMS" ||
         reason == "MAP_NOT_FOUND" || reason == "MAP_REVISION_TOO_OLD" ||
         (refusal.code() == absl::StatusCode::kResourceExhausted &&
          RetryAfterS(refusal).has_value());
}

bool IsConnectionLoss(const absl::Status& end) {
  if (end.code() == absl::StatusCode::kUnavailable) return true;
  const bool may_be_of_a_proxy =
      end.code() == absl::StatusCode::kInternal || end.code() == absl::StatusCode::kUnknown;
  return may_be_of_a_proxy && ReasonOf(end).empty();
}

bool IsIdleTimeout(const absl::Status& end) { return ReasonOf(end) == "IDLE_TIMEOUT"; }

}  // namespace voxloc::client
