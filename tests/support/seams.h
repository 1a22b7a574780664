// SPDX-License-Identifier: Apache-2.0
//
// How well two tiles of a map fit each other at their common border. Pure.

#ifndef VOXLOC_TESTS_SUPPORT_SEAMS_H_
#define VOXLOC_TESTS_SUPPORT_SEAMS_H_

#include <vector>

#include "core/cloud/point_cloud.h"

namespace voxloc {

// Along the border of two tiles, in cubes of 2 m on both sides of it: by how much a plane that
// crosses the border is offset from one side to the other, m, over 0. Planes that do not cross it,
// and cubes in which the points lie in no plane, have none. Empty: the tiles are no neighbours.
[[nodiscard]] std::vector<double> SeamOffsets(const PointCloud& a_map, const PointCloud& b_map);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_SEAMS_H_
