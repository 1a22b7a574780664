// SPDX-License-Identifier: Apache-2.0
//
// Scenes of planes for tests of estimates: points on rectangles, each coordinate with Gaussian
// noise. The same arguments give the same points.

#ifndef VOXLOC_TESTS_SUPPORT_ROOM_SCENE_H_
#define VOXLOC_TESTS_SUPPORT_ROOM_SCENE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct Rectangle {
  Eigen::Vector3d corner;
  Eigen::Vector3d side_a;
  Eigen::Vector3d side_b;
};

// 12 by 10 by 4 m around the map's zero, with two pillars and a bench: every axis is observed.
std::vector<Rectangle> Room();

// Two walls and a floor along x, 200 m long: nothing observes x.
std::vector<Rectangle> Corridor();

// `count` points, spread evenly by area.
PointCloud PointsOn(const std::vector<Rectangle>& rectangles, size_t count, double noise_m,
                    uint64_t seed);

// Those of PointsOn within `range_m` of the pose, in its frame.
PointCloud ScanOf(const std::vector<Rectangle>& rectangles, const Pose& map_T_base, size_t count,
                  double noise_m, uint64_t seed, double range_m = 1e3);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_ROOM_SCENE_H_
