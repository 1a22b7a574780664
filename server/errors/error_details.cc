// SPDX-License-Identifier: Apache-2.0

#include "server/errors/error_details.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace voxloc::server {
namespace {

constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfoUrl[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr char kDomain[] = "voxloc";

// Longer waits than this are no advice.
constexpr double kMaxRetryS = 3600.0;

// A client takes 8 KiB of metadata by default. The message is there twice, and escaping can triple
// a byte.
constexpr size_t kMaxMessageBytes = 1200;

}  // namespace

absl::Status WithReason(absl::Status status, absl::string_view reason,
                        std::initializer_list<std::pair<const char*, std::string>> metadata) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(kDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

absl::Status WithRetryAfter(absl::Status status, double seconds) {
  const double wait_s = std::clamp(std::isfinite(seconds) ? seconds : 0.0, 0.0, kMaxRetryS);
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(static_cast<int64_t>(wait_s));
  info.mutable_retry_delay()->set_nanos(static_cast<int32_t>((wait_s - std::floor(wait_s)) * 1e9));
  status.SetPayload(kRetryInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message(status.message().substr(0, kMaxMessageBytes));
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  // An error that was given no reason has the name of its code.
  const absl::Status reasoned = status.GetPayload(kErrorInfoUrl).has_value()
                                    ? status
                                    : WithReason(status, absl::StatusCodeToString(status.code()));
  reasoned.ForEachPayload([&details](absl::string_view url, const absl::Cord& value) {
    google::protobuf::Any& detail = *details.add_details();
    detail.set_type_url(std::string(url));
    detail.set_value(std::string(value));
  });
  return {static_cast<grpc::StatusCode>(status.code()), message, details.SerializeAsString()};
}

}  // namespace voxloc::server
