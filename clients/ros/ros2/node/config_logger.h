// SPDX-License-Identifier: Apache-2.0
//
// The service ~/config_logger of Autoware's nodes, which sets the level of a logger of the process.
// Its type is in logging_demo, which a ROS without Autoware may lack: CMake looks for it, and
// without it there is no such service.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_CONFIG_LOGGER_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_CONFIG_LOGGER_H_

#include <rclcpp/rclcpp.hpp>

namespace voxloc::ros2 {

// Null: this build has no logging_demo. The service must not outlive the node.
[[nodiscard]] rclcpp::ServiceBase::SharedPtr ServeConfigLogger(
    rclcpp::Node& node, const rclcpp::CallbackGroup::SharedPtr& group);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_CONFIG_LOGGER_H_
