// SPDX-License-Identifier: Apache-2.0
//
// Numeric ("natural") order of names: scan_2 comes before scan_10; and the known name that a
// mistyped one stands for. Pure functions.

#ifndef VOXLOC_CORE_TEXT_NAMES_H_
#define VOXLOC_CORE_TEXT_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace voxloc {

// Negative, zero or positive as `a` comes before, with or after `b`: runs of the digits 0 to 9
// compare as whole numbers of any length, other bytes as bytes. Zero also where only leading zeros
// differ.
[[nodiscard]] int CompareNatural(absl::string_view a, absl::string_view b);

// A strict order of all names: CompareNatural, then the bytes.
[[nodiscard]] bool NaturalLess(absl::string_view a, absl::string_view b);

// The least number of insertions, deletions, substitutions and swaps of neighbouring characters
// that turn `a` into `b` (optimal string alignment).
[[nodiscard]] size_t EditDistance(absl::string_view a, absl::string_view b);

// The name with the smallest edit distance to `typed`, the first of equals. Empty when that
// distance exceeds both 2 and a third of the length of `typed`, unless a name begins with `typed`.
[[nodiscard]] std::string NearestName(absl::string_view typed,
                                      const std::vector<std::string>& names);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_NAMES_H_
