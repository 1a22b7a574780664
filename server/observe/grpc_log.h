// SPDX-License-Identifier: Apache-2.0
//
// Sends what gRPC itself has to say to the server's log.

#ifndef VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
#define VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_

#include "absl/strings/string_view.h"

namespace voxloc::server {

// For the whole process, before gRPC is first used.
void SendGrpcLogToOurs();

// Why a client could not connect by TLS, where a line of gRPC's log is about that; empty: it is
// not.
[[nodiscard]] absl::string_view TlsFailureIn(absl::string_view line);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
