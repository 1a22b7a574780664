// SPDX-License-Identifier: Apache-2.0
//
// Numeric ("natural") order of names: scan_2 comes before scan_10. Pure functions.

#ifndef VOXLOC_CORE_TEXT_NATURAL_ORDER_H_
#define VOXLOC_CORE_TEXT_NATURAL_ORDER_H_

#include "absl/strings/string_view.h"

namespace voxloc {

// Negative, zero or positive as `a` comes before, with or after `b`: runs of the digits 0 to 9
// compare as whole numbers of any length, other bytes as bytes. Zero also where only leading zeros
// differ.
[[nodiscard]] int CompareNatural(absl::string_view a, absl::string_view b);

// A strict order of all names: CompareNatural, then the bytes.
[[nodiscard]] bool NaturalLess(absl::string_view a, absl::string_view b);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_NATURAL_ORDER_H_
