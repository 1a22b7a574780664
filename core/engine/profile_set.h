// SPDX-License-Identifier: Apache-2.0
//
// ProfileSet: profiles by name, always with the built-in ones, which come first. A plain value.

#ifndef VOXLOC_CORE_ENGINE_PROFILE_SET_H_
#define VOXLOC_CORE_ENGINE_PROFILE_SET_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/profile.h"

namespace voxloc {

class ProfileSet {
 public:
  ProfileSet();

  // InvalidArgument: there is one of this name.
  [[nodiscard]] absl::Status Add(Profile profile);

  // NotFound: "must be one of NAMES (got 'name')", for what follows the name of the caller's field.
  [[nodiscard]] absl::StatusOr<Profile> Find(absl::string_view name) const;

  [[nodiscard]] const std::vector<Profile>& profiles() const { return profiles_; }
  [[nodiscard]] std::vector<std::string> Names() const;

 private:
  std::vector<Profile> profiles_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_PROFILE_SET_H_
