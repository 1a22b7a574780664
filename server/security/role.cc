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

}  // namespace voxloc::server
