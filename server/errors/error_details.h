// SPDX-License-Identifier: Apache-2.0
//
// Machine-readable error details: google.rpc.ErrorInfo and google.rpc.RetryInfo, attached as
// payloads of absl::Status until it is converted to grpc::Status. docs/errors.md lists the reasons.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_ERRORS_ERROR_DETAILS_H_
#define VOXLOC_SERVER_ERRORS_ERROR_DETAILS_H_

#include <grpcpp/support/status.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

// `status`, which is not ok, with an ErrorInfo of this reason, in upper case, and the values that
// belong to it. One that it has already is replaced.
[[nodiscard]] absl::Status WithReason(
    absl::Status status, absl::string_view reason,
    std::initializer_list<std::pair<const char*, std::string>> metadata = {});

// `status`, which is not ok, with the seconds after which trying again can help, at least 0.
[[nodiscard]] absl::Status WithRetryAfter(absl::Status status, double seconds);

// From absl::Status to grpc::Status: the same code, and a message short enough for the trailing
// metadata.
[[nodiscard]] grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_ERRORS_ERROR_DETAILS_H_
