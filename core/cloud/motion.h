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

// Point i of `cloud`, in the axes that its sensor had when it saw the point, was seen
// `offset_s + time_s[i]` seconds after the reference time; it is moved to the axes of the sensor at
// that time. `sensor_twist` is the sensor's own and taken as constant; see SensorTwist. `time_s`
// has one value a point, or none: all zeros. Times are finite.
void Deskew(const Twist& sensor_twist, const std::vector<float>& time_s, double offset_s,
            PointCloud& cloud);

// A cloud, and where its frame lies in the frame that it is to be moved into.
struct PlacedCloud {
  Pose target_T_cloud;
  std::shared_ptr<const PointCloud> cloud;
};

// The newest cloud, unchanged, then the points of the earlier ones moved into its frame, cloud
// after cloud in the order given. With a leaf over 0, an earlier point is left out where its voxel
// has a point before it: of a place that was seen again and again, what was seen last stays, and as
// many points as were seen then. The grid is anchored at the frame's zero. Intensity is dropped, as
// are points of earlier clouds that are not finite.
[[nodiscard]] PointCloud AccumulateClouds(const PointCloud& newest,
                                          absl::Span<const PlacedCloud> earlier,
                                          double voxel_leaf_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_MOTION_H_
