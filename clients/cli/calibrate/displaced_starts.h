// SPDX-License-Identifier: Apache-2.0
//
// Starts around a known pose from which a search may end in a wrong optimum. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_DISPLACED_STARTS_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_DISPLACED_STARTS_H_

#include <cstddef>
#include <vector>

#include "core/geometry/pose.h"

namespace voxloc::cli {

constexpr size_t kDisplacedStarts = 11;

// kDisplacedStarts poses. Eight are displaced horizontally, two by each of four distances that grow
// evenly by a factor from the smaller of `cell_size_m` and `farthest_m` to `farthest_m`: one with
// the right heading, and one on the opposite side with a heading that is 20 degrees wrong. Three
// are in place, with headings that are 45, 90 and 180 degrees wrong. Directions turn by the golden
// angle from scan to scan, and signs alternate, so that a drive covers all of them.
[[nodiscard]] std::vector<Pose> DisplacedStarts(const Pose& map_T_base, size_t scan_index,
                                                double cell_size_m, double farthest_m);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_DISPLACED_STARTS_H_
