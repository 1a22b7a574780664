// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

absl::Status ValidateMapName(absl::string_view name) {
  constexpr size_t kMaxLength = 64;
  if (name.empty() || name.size() > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("map name has ", name.size(), " characters; allowed is 1 to ", kMaxLength));
  }
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool inner = i > 0 && (c == '.' || c == '_' || c == '-');
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !inner) {
      return absl::InvalidArgumentError(
          absl::StrCat("map name has the character \"", absl::string_view(&c, 1), "\" at place ", i,
                       "; allowed are letters, digits and, after the first, . _ -"));
    }
  }
  return absl::OkStatus();
}

}  // namespace voxloc
