// SPDX-License-Identifier: Apache-2.0
//
// What callers may do, as the access file names it, and which role each RPC needs: the one table
// that the checks, the audit log and docs/security.md go by. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_ROLE_H_
#define VOXLOC_SERVER_SECURITY_ROLE_H_

#include <array>
#include <optional>
#include <set>

#include "absl/strings/string_view.h"
#include "server/observe/metrics/rpc_metrics.h"

namespace voxloc::server {

enum class Role { kTrack, kScore, kMapRead, kMapWrite, kAdmin };

inline constexpr std::array<Role, 5> kRoles = {Role::kTrack, Role::kScore, Role::kMapRead,
                                               Role::kMapWrite, Role::kAdmin};

[[nodiscard]] absl::string_view ToString(Role role);  // "map-read"

[[nodiscard]] std::optional<Role> RoleOf(absl::string_view name);

// None: every caller that the server knows may use it.
[[nodiscard]] std::optional<Role> RequiredRole(RpcMethod method);

// Whether these roles let a caller use the RPC. kMapWrite stands for kMapRead too.
[[nodiscard]] bool Permits(const std::set<Role>& roles, RpcMethod method);

// Whether its calls are in the audit log: RPCs that write maps, and those of admins.
[[nodiscard]] bool IsAudited(RpcMethod method);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ROLE_H_
