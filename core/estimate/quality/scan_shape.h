// SPDX-License-Identifier: Apache-2.0
//
// What a scan shows on its own, wherever it was taken: the sectors around the sensor that its
// points lie in, which of them stand clear of the ground, and the space that its rays saw to be
// free. Pure functions; the same scan gives the same shape.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_

#include <Eigen/Geometry>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/estimate/quality/free_space.h"

namespace voxloc {

constexpr size_t kSectors = 12;

struct ScanShape {
  // Of each point of the scan; of points that are not finite, anything.
  std::vector<uint8_t> sector;  // 0 to kSectors - 1
  std::vector<uint8_t> raised;  // 1: it stands clear of the lowest points near it
  FreeSpace free_space;
};

// `map_R_base`: the scan's orientation to a few degrees, as a guess has it; only its tilt counts.
[[nodiscard]] ScanShape ShapeOf(const PointCloud& scan_base,
                                const Eigen::Vector3d& sensor_position_base,
                                const Eigen::Quaterniond& map_R_base);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_
