// SPDX-License-Identifier: Apache-2.0
//
// Points as a PointCloud2.

#ifndef VOXLOC_TESTS_ROS_WIRE_XYZ_CLOUD_H_
#define VOXLOC_TESTS_ROS_WIRE_XYZ_CLOUD_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/cloud/point_cloud.h"
#include "core/geometry/twist.h"
#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {

// The points in a cloud of float32 coordinates, with 16 bytes a point as PCL writes them. A larger
// `repeat` gives each point so often, as sensors with more points would.
[[nodiscard]] Cloud XyzCloud(const PointCloud& points, int64_t stamp_ns,
                             const std::string& frame_id, size_t repeat = 1);

// The same points in an organised cloud of big-endian doubles, in another order, with a gap after
// each row.
[[nodiscard]] Cloud UnusualCloud(const PointCloud& points, int64_t stamp_ns,
                                 const std::string& frame_id);

// The points as a LiDAR sees them that moves with the twist while it turns once, in the time after
// the stamp: each from where the sensor is at its own time, in a field `time` in seconds.
[[nodiscard]] Cloud SkewedCloud(const PointCloud& points, int64_t stamp_ns,
                                const std::string& frame_id, const Twist& twist, double turn_s);

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_XYZ_CLOUD_H_
