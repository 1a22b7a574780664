// SPDX-License-Identifier: Apache-2.0
//
// What Autoware's count_oscillation reads of ROS's message.

#ifndef VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_GEOMETRY_MSGS_MSG_POSE_HPP_
#define VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_GEOMETRY_MSGS_MSG_POSE_HPP_

namespace geometry_msgs::msg {

struct Point {
  double x, y, z;
};

struct Pose {
  Point position;
};

}  // namespace geometry_msgs::msg

#endif  // VOXLOC_TESTS_BENCH_PEERS_WITHOUT_ROS_GEOMETRY_MSGS_MSG_POSE_HPP_
