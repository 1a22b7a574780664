// SPDX-License-Identifier: Apache-2.0

#include "server/convert/status.h"

#include <cstddef>
#include <string>

#include "google/rpc/status.pb.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// A client takes 8 KiB of metadata by default. The message is there twice, and escaping can triple
// a byte.
constexpr size_t kMaxMessageBytes = 1200;

}  // namespace

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
