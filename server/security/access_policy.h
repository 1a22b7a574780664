// SPDX-License-Identifier: Apache-2.0
//
// AccessPolicy: who is known and may do what, as an access file says it. A plain value, constant
// once it is made.

#ifndef VOXLOC_SERVER_SECURITY_ACCESS_POLICY_H_
#define VOXLOC_SERVER_SECURITY_ACCESS_POLICY_H_

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/checksum/sha256.h"
#include "server/observe/metrics/rpc_metrics.h"

namespace voxloc::server {

// What callers may do, as the access file names it, and which role each RPC needs: the one table
// that the checks, the audit log and docs/security.md go by. Thread-safe: no shared state.

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

// The name of callers without credentials, where they may do anything.
inline constexpr char kAnonymous[] = "anonymous";

struct Identity {
  std::string name;
  std::vector<Sha256Digest> tokens;       // digests of their bytes
  std::vector<std::string> certificates;  // names in verified client certificates
  absl::Time expires = absl::InfiniteFuture();
  std::set<Role> roles;
  std::vector<std::string> maps = {"*"};      // globs
  std::vector<std::string> vehicles = {"*"};  // globs

  [[nodiscard]] bool MayUseMap(const std::string& map) const;
  // Those that will come included.
  [[nodiscard]] bool MayUseAllMaps() const;
  // An empty name, which is that of no vehicle, is matched by `*` alone.
  [[nodiscard]] bool MayUseVehicle(const std::string& vehicle) const;
};

struct AccessPolicy {
  std::vector<Identity> identities;
  std::optional<Identity> anonymous;  // none: callers need credentials

  // Null: nobody's. The time that it takes does not depend on how much of a digest is right.
  [[nodiscard]] const Identity* FindByToken(const Sha256Digest& token) const;
  // The first that one of the names belongs to; null: nobody.
  [[nodiscard]] const Identity* FindByCertificate(const std::vector<std::string>& names) const;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ACCESS_POLICY_H_
