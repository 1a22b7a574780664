// SPDX-License-Identifier: Apache-2.0
//
// The cubes of a lattice along a ray, each once and in order (Amanatides and Woo, "A fast voxel
// traversal algorithm for ray tracing", 1987). Pure.

#ifndef VOXLOC_CORE_MAP_UPDATE_CUBE_WALK_H_
#define VOXLOC_CORE_MAP_UPDATE_CUBE_WALK_H_

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "core/map/lattice.h"

namespace voxloc {

// Calls visit(cube, entry_m, exit_m) for each cube of edge `cube_m` that the ray origin + s
// direction passes for s in [from_m, to_m]; entry and exit are values of s. `direction` has length
// one.
template <typename Visit>
void WalkCubes(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction, double from_m,
               double to_m, double cube_m, const Visit& visit) {
  if (!(from_m < to_m)) return;
  const Eigen::Vector3d start = origin + from_m * direction;
  const CellKey first = CellOf(start, cube_m);
  Eigen::Vector3i cube(first.x, first.y, first.z);
  Eigen::Vector3i step;
  Eigen::Vector3d next_m;  // s at the next border across each axis
  Eigen::Vector3d between_m;
  for (int axis = 0; axis < 3; ++axis) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double slope = direction[axis];
    step[axis] = slope > 0.0 ? 1 : -1;
    const double border = (cube[axis] + (slope > 0.0 ? 1 : 0)) * cube_m;
    between_m[axis] = slope == 0.0 ? kNever : cube_m / std::abs(slope);
    next_m[axis] = slope == 0.0 ? kNever : from_m + (border - start[axis]) / slope;
  }
  double entry_m = from_m;
  while (entry_m < to_m) {
    int axis = 0;
    const double exit_m = next_m.minCoeff(&axis);
    visit(CellKey{cube.x(), cube.y(), cube.z()}, entry_m, std::min(exit_m, to_m));
    entry_m = exit_m;
    next_m[axis] += between_m[axis];
    cube[axis] += step[axis];
  }
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_CUBE_WALK_H_
