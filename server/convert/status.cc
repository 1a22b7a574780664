// SPDX-License-Identifier: Apache-2.0

#include "server/convert/status.h"

#include <cstddef>
#include <string>

namespace voxloc::server {
namespace {

// A client takes 8 KiB of metadata by default, and escaping can triple a byte.
constexpr size_t kMaxMessageBytes = 2000;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message().substr(0, kMaxMessageBytes))};
}

}  // namespace voxloc::server
