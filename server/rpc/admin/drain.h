// SPDX-License-Identifier: Apache-2.0
//
// The RPC Drain.

#ifndef VOXLOC_SERVER_RPC_ADMIN_DRAIN_H_
#define VOXLOC_SERVER_RPC_ADMIN_DRAIN_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

// As the contract says. Thread-safe.
[[nodiscard]] absl::Status BeginDrain(Runtime& runtime, const v1::DrainRequest& request,
                                      v1::DrainResponse& response);

[[nodiscard]] absl::Status EndDrain(Runtime& runtime, const v1::UndrainRequest& request,
                                    v1::UndrainResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_DRAIN_H_
