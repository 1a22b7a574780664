// SPDX-License-Identifier: Apache-2.0
//
// Which role each RPC needs: the one table that the checks, the audit log and docs/security.md go
// by. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_REQUIRED_ROLE_H_
#define VOXLOC_SERVER_SECURITY_REQUIRED_ROLE_H_

#include <optional>
#include <set>

#include "server/observe/metrics/metrics.h"
#include "server/security/role.h"

namespace voxloc::server {

// None: every caller that the server knows may use it.
[[nodiscard]] std::optional<Role> RequiredRole(RpcMethod method);

// Whether these roles let a caller use the RPC. kMapWrite stands for kMapRead too.
[[nodiscard]] bool Permits(const std::set<Role>& roles, RpcMethod method);

// Whether each of its calls stands in the audit log: what writes maps, and what admins do.
[[nodiscard]] bool IsAudited(RpcMethod method);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_REQUIRED_ROLE_H_
