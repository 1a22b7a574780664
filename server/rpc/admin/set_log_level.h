// SPDX-License-Identifier: Apache-2.0
//
// AdminService.SetLogLevel: how much is logged from now on.

#ifndef VOXLOC_SERVER_RPC_ADMIN_SET_LOG_LEVEL_H_
#define VOXLOC_SERVER_RPC_ADMIN_SET_LOG_LEVEL_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status SetLogLevel(const Runtime& runtime,
                                       const v1::SetLogLevelRequest& request,
                                       v1::SetLogLevelResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_SET_LOG_LEVEL_H_
