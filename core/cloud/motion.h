// SPDX-License-Identifier: Apache-2.0
//
// Scans of a moving sensor: points that were seen during the motion, as if all had been seen at one
// time, and the points of a scan and of earlier ones as one cloud. Pure functions.

#ifndef VOXLOC_CORE_CLOUD_MOTION_H_
#define VOXLOC_CORE_CLOUD_MOTION_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// Point i of `cloud` was measured `offset_s + time_s[i]` seconds after the reference time, in the
// sensor frame at that moment; it is moved into the sensor frame at the reference time.
// `sensor_twist` is the sensor's own, assumed constant; see SensorTwist. `time_s` has one finite
// value a point, or is empty: all zeros.
void Deskew(const Twist& sensor_twist, const std::vector<float>& time_s, double offset_s,
            PointCloud& cloud);

// A cloud and its pose in the target frame.
struct PlacedCloud {
  Pose target_T_cloud;
  std::shared_ptr<const PointCloud> cloud;
};

// The newest cloud, unchanged, then the points of the earlier ones moved into its frame, cloud by
// cloud in the order given. With voxel_leaf_m > 0, an earlier point is dropped if its voxel already
// has a point, so that a voxel keeps the points of its latest scan. The grid is anchored at the
// frame's zero. Intensity is dropped, and so are points of earlier clouds that are not finite.
[[nodiscard]] PointCloud AccumulateClouds(const PointCloud& newest,
                                          absl::Span<const PlacedCloud> earlier,
                                          double voxel_leaf_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_MOTION_H_
