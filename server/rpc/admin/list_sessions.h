// SPDX-License-Identifier: Apache-2.0
//
// AdminService.ListSessions.

#ifndef VOXLOC_SERVER_RPC_ADMIN_LIST_SESSIONS_H_
#define VOXLOC_SERVER_RPC_ADMIN_LIST_SESSIONS_H_

#include "absl/status/status.h"
#include "server/runtime/runtime.h"
#include "server/security/call_access.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::Status ListSessions(const Runtime& runtime, const CallAccess& access,
                                        const v1::ListSessionsRequest& request,
                                        v1::ListSessionsResponse& response);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_LIST_SESSIONS_H_
