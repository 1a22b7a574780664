// SPDX-License-Identifier: Apache-2.0
//
// The time between two stamps. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_TRACKING_STAMP_DIFFERENCE_H_
#define VOXLOC_CORE_TRACKING_STAMP_DIFFERENCE_H_

#include <algorithm>
#include <cstdint>

namespace voxloc {

// Seconds between stamps in nanoseconds, in any order; at least 0, also where the difference of the
// stamps is no int64_t.
inline double SecondsBetween(int64_t a_ns, int64_t b_ns) {
  const auto [earlier, later] = std::minmax(a_ns, b_ns);
  return static_cast<double>(static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier)) * 1e-9;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_STAMP_DIFFERENCE_H_
