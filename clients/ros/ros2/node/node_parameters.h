// SPDX-License-Identifier: Apache-2.0
//
// The parameters of the node: declared from the bridge's table, read, and checked. They are read
// when the node starts; setting one later is refused.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PARAMETERS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PARAMETERS_H_

#include <rclcpp/rclcpp.hpp>

#include "absl/status/statusor.h"
#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros2 {

// Declares every parameter of the table with its default. Returns the values in effect and a
// warning for each unknown name. InvalidArgument: an invalid value.
[[nodiscard]] absl::StatusOr<ros::LoadedParameters> DeclareParameters(rclcpp::Node& node);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PARAMETERS_H_
