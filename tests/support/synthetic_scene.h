// SPDX-License-Identifier: Apache-2.0
//
// A small street scene for tests: undulating ground, walls and poles in a square around the map's
// zero. A map and a scan are drawn from the same surfaces independently, each with its own noise,
// so the true pose of a scan is known. The same arguments give the same points.

#ifndef VOXLOC_TESTS_SUPPORT_SYNTHETIC_SCENE_H_
#define VOXLOC_TESTS_SUPPORT_SYNTHETIC_SCENE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct SceneOptions {
  uint64_t seed = 1;
  double half_extent_m = 31.0;  // of the square
  double noise_m = 0.01;        // of every coordinate, one sigma
  double points_per_m2 = 50.0;  // of the map, on walls; a fifth of it on the ground
};

// Points of the map frame around `origin`: the scene's zero lies there.
PointCloud SceneMap(const SceneOptions& options = {},
                    const Eigen::Vector3d& origin = Eigen::Vector3d::Zero());

// `points` of the scene within `range_m` of the sensor, in the base frame at `scene_T_base`,
// without occlusion.
PointCloud SceneScan(const Pose& scene_T_base, size_t points, const SceneOptions& options = {},
                     double range_m = 25.0);

// Cuts a cloud into nx times ny tiles of equal size along x and y, beginning at the corner (west,
// south) of its own frame; points beyond the outermost edges go into the tiles there. Every tile
// keeps the cloud's origin and the order of its points; empty tiles are left out.
std::vector<PointCloud> CutIntoTiles(const PointCloud& cloud, int nx, int ny,
                                     const Eigen::Vector2d& corner_m,
                                     const Eigen::Vector2d& tile_size_m);

// The pose with a translation added in map axes and a rotation about the map's z axis.
Pose Displaced(const Pose& map_T_base, const Eigen::Vector3d& translation_m, double yaw_rad);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_SYNTHETIC_SCENE_H_
