// SPDX-License-Identifier: Apache-2.0
//
// Suggests a known name for a mistyped one.

#ifndef VOXLOC_CORE_TEXT_NEAREST_NAME_H_
#define VOXLOC_CORE_TEXT_NEAREST_NAME_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace voxloc {

// The least number of insertions, deletions, substitutions and swaps of neighbouring characters
// that turn `a` into `b` (optimal string alignment).
[[nodiscard]] size_t EditDistance(absl::string_view a, absl::string_view b);

// The name with the smallest edit distance to `typed`, the first of equals. Empty when that
// distance exceeds both 2 and a third of the length of `typed`, unless a name begins with `typed`.
[[nodiscard]] std::string NearestName(absl::string_view typed,
                                      const std::vector<std::string>& names);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_NEAREST_NAME_H_
