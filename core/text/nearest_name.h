// SPDX-License-Identifier: Apache-2.0
//
// What somebody meant who typed a name that does not exist.

#ifndef VOXLOC_CORE_TEXT_NEAREST_NAME_H_
#define VOXLOC_CORE_TEXT_NEAREST_NAME_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace voxloc {

// Single insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
[[nodiscard]] size_t EditDistance(absl::string_view a, absl::string_view b);

// The name with the smallest distance to `typed`, the first of equals. Empty when none is near:
// more than a third of the typed characters, and more than two, would have to change. A name that
// begins with what was typed is near at any length.
[[nodiscard]] std::string NearestName(absl::string_view typed,
                                      const std::vector<std::string>& names);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_NEAREST_NAME_H_
