// SPDX-License-Identifier: Apache-2.0

#include "server/security/role.h"

namespace voxloc::server {

absl::string_view ToString(Role role) {
  switch (role) {
    case Role::kTrack:
      return "track";
    case Role::kScore:
      return "score";
    case Role::kMapRead:
      return "map-read";
    case Role::kMapWrite:
      return "map-write";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<Role> RoleOf(absl::string_view name) {
  for (const Role role : kRoles) {
    if (ToString(role) == name) return role;
  }
  return std::nullopt;
}

std::optional<Role> RequiredRole(RpcMethod method) {
  switch (method) {
    case RpcMethod::kAlignScans:
    case RpcMethod::kAlignScan:
    case RpcMethod::kEstimateInitialPose:
      return Role::kTrack;
    case RpcMethod::kScorePoses:
      return Role::kScore;
    case RpcMethod::kGetMap:
    case RpcMethod::kListMaps:
    case RpcMethod::kListTiles:
    case RpcMethod::kGetTiles:
    case RpcMethod::kGetCells:
    case RpcMethod::kWatchMap:
    case RpcMethod::kListRevisions:
      return Role::kMapRead;
    case RpcMethod::kUpdateMapTiles:
    case RpcMethod::kDeleteMap:
    case RpcMethod::kUndeleteMap:
    case RpcMethod::kActivateRevision:
    case RpcMethod::kWithdrawRevision:
    case RpcMethod::kSetCanary:
      return Role::kMapWrite;
    case RpcMethod::kGetServerInfo:
      return std::nullopt;
    case RpcMethod::kListSessions:
    case RpcMethod::kGetConfig:
    case RpcMethod::kSetLogLevel:
    case RpcMethod::kDrain:
    case RpcMethod::kUndrain:
    case RpcMethod::kListCaptures:
    case RpcMethod::kGetCapture:
      return Role::kAdmin;
  }
  return Role::kAdmin;
}

bool Permits(const std::set<Role>& roles, RpcMethod method) {
  const std::optional<Role> required = RequiredRole(method);
  if (!required.has_value() || roles.count(*required) != 0) return true;
  return *required == Role::kMapRead && roles.count(Role::kMapWrite) != 0;
}

bool IsAudited(RpcMethod method) {
  const std::optional<Role> required = RequiredRole(method);
  return required == Role::kMapWrite || required == Role::kAdmin;
}

}  // namespace voxloc::server
