// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

absl::Status ValidateMapName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxMapNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the map name must have from 1 to ",
                                                   kMaxMapNameBytes, " characters (got ",
                                                   name.size(), ")"));
  }
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool inner = i > 0 && (c == '.' || c == '_' || c == '-');
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !inner) {
      return absl::InvalidArgumentError(
          absl::StrCat("the map name must consist of letters, digits and, after the first "
                       "character, . _ - (got \"",
                       absl::string_view(&c, 1), "\" at position ", i, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace voxloc
