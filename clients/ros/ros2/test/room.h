// SPDX-License-Identifier: Apache-2.0
//
// A hall with pillars, as a map and as scans from any pose in it.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_TEST_ROOM_H_
#define VOXLOC_CLIENTS_ROS_ROS2_TEST_ROOM_H_

#include <Eigen/Core>
#include <cstdint>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::ros2 {

// 40 m by 24 m by 6 m, one corner at `corner_map`, a point each 0.2 m, scattered by 2 cm.
[[nodiscard]] std::vector<Eigen::Vector3d> RoomPoints(const Eigen::Vector3d& corner_map);

[[nodiscard]] PointCloud ToCloud(const std::vector<Eigen::Vector3d>& points_map);

// Every `stride`th point as a sensor at the pose sees it: x, y, z and an intensity, float32.
[[nodiscard]] sensor_msgs::msg::PointCloud2 ScanFrom(const std::vector<Eigen::Vector3d>& points_map,
                                                     const Pose& map_T_sensor, size_t stride,
                                                     int64_t stamp_ns, const std::string& frame_id);

// The points as a message in the map's frame, x, y and z.
[[nodiscard]] sensor_msgs::msg::PointCloud2 MapMessage(
    const std::vector<Eigen::Vector3d>& points_map);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_TEST_ROOM_H_
