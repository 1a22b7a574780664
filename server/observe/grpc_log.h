// SPDX-License-Identifier: Apache-2.0
//
// Redirects gRPC's own log to the server's log.

#ifndef VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
#define VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_

#include "absl/strings/string_view.h"

namespace voxloc::server {

// For the whole process, before gRPC is first used.
void RedirectGrpcLog();

// The reason of a failed TLS handshake in a line of gRPC's log. Empty: the line is about something
// else.
[[nodiscard]] absl::string_view ParseTlsFailure(absl::string_view line);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
