// SPDX-License-Identifier: Apache-2.0
//
// What Autoware's count_oscillation calls of autoware_localization_util, which needs ROS.

#ifndef VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_AUTOWARE_LOCALIZATION_UTIL_UTIL_FUNC_HPP_
#define VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_AUTOWARE_LOCALIZATION_UTIL_UTIL_FUNC_HPP_

#include <Eigen/Core>
#include <geometry_msgs/msg/pose.hpp>

namespace autoware::localization_util {

inline Eigen::Vector3d point_to_vector3d(const geometry_msgs::msg::Point& point) {
  return {point.x, point.y, point.z};
}

}  // namespace autoware::localization_util

#endif  // VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_AUTOWARE_LOCALIZATION_UTIL_UTIL_FUNC_HPP_
