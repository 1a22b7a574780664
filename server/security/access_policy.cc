// SPDX-License-Identifier: Apache-2.0

#include "server/security/access_policy.h"

#include <fnmatch.h>
#include <openssl/crypto.h>

#include <algorithm>

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

namespace {

bool MatchesAny(const std::vector<std::string>& globs, const std::string& name) {
  if (name.find('\0') != std::string::npos) return false;  // fnmatch would see its beginning alone
  return std::any_of(globs.begin(), globs.end(), [&name](const std::string& glob) {
    return fnmatch(glob.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

}  // namespace

bool Identity::MayUseMap(const std::string& map) const { return MatchesAny(maps, map); }

bool Identity::MayUseAllMaps() const {
  return std::find(maps.begin(), maps.end(), "*") != maps.end();
}

bool Identity::MayUseVehicle(const std::string& vehicle) const {
  return MatchesAny(vehicles, vehicle);
}

const Identity* AccessPolicy::FindByToken(const Sha256Digest& token) const {
  const Identity* found = nullptr;
  for (const Identity& identity : identities) {
    for (const Sha256Digest& candidate : identity.tokens) {
      if (CRYPTO_memcmp(candidate.data(), token.data(), token.size()) == 0) found = &identity;
    }
  }
  return found;
}

const Identity* AccessPolicy::FindByCertificate(const std::vector<std::string>& names) const {
  for (const Identity& identity : identities) {
    for (const std::string& name : identity.certificates) {
      if (std::find(names.begin(), names.end(), name) != names.end()) return &identity;
    }
  }
  return nullptr;
}

}  // namespace voxloc::server
