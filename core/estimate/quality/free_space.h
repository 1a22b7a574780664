// SPDX-License-Identifier: Apache-2.0
//
// The space that a scan saw to be free: points along its rays. At a right pose the map has nothing
// there; at a wrong one rays pass through walls. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_FREE_SPACE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_FREE_SPACE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"

namespace voxloc {

constexpr size_t kMaxFreeSpaceRays = 64;

struct FreeSpace {
  std::shared_ptr<const PointCloud> points_base;
  std::vector<uint32_t> ray;  // of each point, counted from 0
  size_t rays = 0;            // with at least one point
};

// Points along rays from the sensor to an even choice of the scan's points, none near a point of
// the scan. The same scan gives the same points.
[[nodiscard]] FreeSpace SampleFreeSpace(const PointCloud& scan_base,
                                        const Eigen::Vector3d& sensor_position_base);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_FREE_SPACE_H_
