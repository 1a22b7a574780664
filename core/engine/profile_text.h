// SPDX-License-Identifier: Apache-2.0
//
// Profiles as text: YAML with the keys of voxloc.v1.Profile (docs/profiles.md). Thread-safe.

#ifndef VOXLOC_CORE_ENGINE_PROFILE_TEXT_H_
#define VOXLOC_CORE_ENGINE_PROFILE_TEXT_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/profile.h"

namespace voxloc {

// What a key does not set is Profile's default. InvalidArgument: not YAML, no name, no stages, a
// key that is unknown or there twice, a value that is not allowed, or what ValidateProfile refuses.
// The message begins with `file`, which is only a name here, and the line where there is one.
[[nodiscard]] absl::StatusOr<Profile> ParseProfile(absl::string_view yaml, absl::string_view file);

// Of the text of a profile, for those who read one: a hundred times that of a built-in one.
inline constexpr size_t kMaxProfileBytes = size_t{1} << 18;

// core/engine/profiles/*.yaml, which are compiled into the program.
[[nodiscard]] const std::vector<absl::string_view>& BuiltInProfileTexts();

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_PROFILE_TEXT_H_
