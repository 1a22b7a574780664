// SPDX-License-Identifier: Apache-2.0
//
// A yard between houses, one of which its map does not have, and drives through it, in files: what
// tests of proposals for maps start from. The same on every machine.

#ifndef VOXLOC_TESTS_SUPPORT_YARD_H_
#define VOXLOC_TESTS_SUPPORT_YARD_H_

#include <cstddef>
#include <string>
#include <vector>

#include "clients/sim/lidar.h"
#include "clients/sim/world.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

[[nodiscard]] sim::Solid SolidBetween(const Eigen::Vector3d& low, const Eigen::Vector3d& high);

// A floor, and houses around a yard of 40 m x 16 m. The last solid is the new house, 3 to 9 m along
// x, 5 to 8 m along y and 5 m high.
[[nodiscard]] std::vector<sim::Solid> Yard();

// A point every 0.2 m of the faces of the solids.
[[nodiscard]] PointCloud SampleFaces(const std::vector<sim::Solid>& solids);

struct DriveThrough {
  double from_x_m = -6.0;  // at 2 m above the floor, along x
  double step_m = 2.0;
  double y_m = 0.0;
  int scans = 8;
  int rings = 16;
  uint64_t seed = 1;
};

// Writes a scan of 720 columns for each step into the folder, as PCD, in the vehicle's frame. The
// poses of the scans.
std::vector<Pose> WriteDrive(const std::vector<sim::Solid>& solids, const DriveThrough& drive,
                             const std::string& folder);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_YARD_H_
