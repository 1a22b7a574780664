// SPDX-License-Identifier: Apache-2.0
//
// AdminService.GetConfig: the configuration in effect, and where each value comes from.

#ifndef VOXLOC_SERVER_RPC_ADMIN_GET_CONFIG_H_
#define VOXLOC_SERVER_RPC_ADMIN_GET_CONFIG_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status GetConfig(const Runtime& runtime, const v1::GetConfigRequest& request,
                                     v1::GetConfigResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_GET_CONFIG_H_
