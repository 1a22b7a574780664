// SPDX-License-Identifier: Apache-2.0
//
// What callers may do, as the access file names it. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SECURITY_ROLE_H_
#define VOXLOC_SERVER_SECURITY_ROLE_H_

#include <array>
#include <optional>

#include "absl/strings/string_view.h"

namespace voxloc::server {

enum class Role { kTrack, kScore, kMapRead, kMapWrite, kAdmin };

inline constexpr std::array<Role, 5> kRoles = {Role::kTrack, Role::kScore, Role::kMapRead,
                                               Role::kMapWrite, Role::kAdmin};

[[nodiscard]] absl::string_view ToString(Role role);  // "map-read"

[[nodiscard]] std::optional<Role> RoleOf(absl::string_view name);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SECURITY_ROLE_H_
