// SPDX-License-Identifier: Apache-2.0
//
// The one place where gRPC's status becomes absl's. Included by this library's sources only.

#ifndef VOXLOC_CLIENTS_CPP_RPC_STATUS_H_
#define VOXLOC_CLIENTS_CPP_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::client {

// The same code; the message is "SERVER CALL: what the server said". The numbers of the two sets of
// codes agree; one that neither knows becomes Unknown. Details of the error become payloads; see
// error_details.h.
[[nodiscard]] absl::Status ToAbslStatus(const grpc::Status& status, absl::string_view server,
                                        absl::string_view call);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_RPC_STATUS_H_
