// SPDX-License-Identifier: Apache-2.0
//
// Deskewing: points that were seen while the sensor moved, as if all had been seen at one time.

#ifndef VOXLOC_CORE_CLOUD_DESKEW_H_
#define VOXLOC_CORE_CLOUD_DESKEW_H_

#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/twist.h"

namespace voxloc {

// Point i of `cloud`, in the axes that its sensor had when it saw the point, was seen
// `offset_s + time_s[i]` seconds after the reference time; it is moved to the axes of the sensor at
// that time. `sensor_twist` is the sensor's own and taken as constant; see SensorTwist. `time_s`
// has one value a point, or none: all zeros. Times are finite.
void Deskew(const Twist& sensor_twist, const std::vector<float>& time_s, double offset_s,
            PointCloud& cloud);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_DESKEW_H_
