// SPDX-License-Identifier: Apache-2.0
//
// AdminService.GetServerInfo: version, engine, devices, limits, profiles.

#ifndef VOXLOC_SERVER_RPC_ADMIN_GET_SERVER_INFO_H_
#define VOXLOC_SERVER_RPC_ADMIN_GET_SERVER_INFO_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status GetServerInfo(Runtime& runtime, const CallAccess& access,
                                         const v1::GetServerInfoRequest& request,
                                         v1::GetServerInfoResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_GET_SERVER_INFO_H_
