// SPDX-License-Identifier: Apache-2.0
//
// A small town in a cloud, and scans of it from exact poses: what the server's tests align. The
// same on every machine.

#ifndef VOXLOC_TESTS_SERVER_SMALL_TOWN_H_
#define VOXLOC_TESTS_SERVER_SMALL_TOWN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/geometry.pb.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

// 60 x 60 m around the origin: ground, walls at odd angles, poles; 2 cm of noise.
[[nodiscard]] PointCloud SmallTown();

// A vehicle's pose in the town: a metre off its middle, turned a little.
[[nodiscard]] Pose VehiclePose();

// About `points` of the town within 25 m of the pose, in the vehicle's frame.
[[nodiscard]] PointCloud ScanFrom(const Pose& map_T_base, size_t points = 1500);

[[nodiscard]] v1::Cloud CloudOf(const PointCloud& cloud);
[[nodiscard]] v1::Cloud CloudOf(const std::vector<float>& xyz);
[[nodiscard]] v1::Pose PoseOf(const Pose& pose);

// A scan from VehiclePose() whose guess is that pose moved by (0.3, -0.2, 0.05) m and 1 degree.
[[nodiscard]] v1::Scan GoodScan(uint64_t sequence = 1);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_SMALL_TOWN_H_
