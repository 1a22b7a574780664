// SPDX-License-Identifier: Apache-2.0
//
// From absl::Status to grpc::Status: the same code, and a message short enough for the trailing
// metadata. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_STATUS_H_
#define VOXLOC_SERVER_CONVERT_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace voxloc::server {

[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_STATUS_H_
