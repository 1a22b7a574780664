// SPDX-License-Identifier: Apache-2.0
//
// Stamps: nanoseconds of any clock as int64_t, those of Unix time for example.

#ifndef VOXLOC_CORE_GEOMETRY_STAMP_H_
#define VOXLOC_CORE_GEOMETRY_STAMP_H_

#include <algorithm>
#include <cstdint>

namespace voxloc {

// From one stamp to another, in seconds; negative where the other one is earlier. Also where the
// difference of the stamps is no int64_t.
[[nodiscard]] inline double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  const auto [earlier, later] = std::minmax(from_ns, to_ns);
  const double apart_s =
      static_cast<double>(static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier)) * 1e-9;
  return to_ns < from_ns ? -apart_s : apart_s;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_STAMP_H_
