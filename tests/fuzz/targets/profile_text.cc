// SPDX-License-Identifier: Apache-2.0
//
// Files of profiles.

#include "core/engine/profile_text.h"

#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzProfileText(absl::string_view bytes) {
  const auto profile = ParseProfile(bytes, "profile.yaml");
  if (!profile.ok()) return profile.status();
  FuzzRequire(!profile->name.empty(), "a profile has a name");
  FuzzRequire(ValidateProfile(*profile).ok(), "a profile is within its limits");
  return absl::OkStatus();
}

}  // namespace voxloc
