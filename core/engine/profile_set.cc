// SPDX-License-Identifier: Apache-2.0

#include "core/engine/profile_set.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/engine/profile_text.h"

namespace voxloc {
namespace {

const std::vector<Profile>& BuiltInProfiles() {
  static const auto& profiles = *[] {
    auto* const parsed = new std::vector<Profile>;
    for (const absl::string_view text : BuiltInProfileTexts()) {
      parsed->push_back(ParseProfile(text, "a built-in profile").value());  // tests parse them
    }
    return parsed;
  }();
  return profiles;
}

}  // namespace

Profile AutowareProfile() { return ProfileSet().Find("autoware").value(); }
Profile PreciseProfile() { return ProfileSet().Find("precise").value(); }

ProfileSet::ProfileSet() : profiles_(BuiltInProfiles()) {}

absl::Status ProfileSet::Add(Profile profile) {
  if (Find(profile.name).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the name of a profile must differ from ",
                                                   absl::StrJoin(Names(), ", "), " (got '",
                                                   profile.name, "')"));
  }
  profiles_.push_back(std::move(profile));
  return absl::OkStatus();
}

absl::StatusOr<Profile> ProfileSet::Find(absl::string_view name) const {
  for (const Profile& profile : profiles_) {
    if (profile.name == name) return profile;
  }
  return absl::NotFoundError(absl::StrCat("must be one of ", absl::StrJoin(Names(), ", "),
                                          " (got '", absl::CEscape(name.substr(0, 64)), "')"));
}

std::vector<std::string> ProfileSet::Names() const {
  std::vector<std::string> names;
  for (const Profile& profile : profiles_) names.push_back(profile.name);
  return names;
}

}  // namespace voxloc
