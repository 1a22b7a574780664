// SPDX-License-Identifier: Apache-2.0
//
// The bridge's ports as a node has them. Thread-safe, except for the output, which ros::Output
// says.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_

#include <memory>
#include <rclcpp/rclcpp.hpp>

#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"

namespace voxloc::ros2 {

// They must not outlive the node.
struct NodePorts {
  NodePorts(rclcpp::Node& node, const ros::BridgeParameters& parameters);

  [[nodiscard]] ros::Ports Ports() const {
    return {clock.get(), transforms.get(), output.get(), log.get(), map_loader.get()};
  }

  std::unique_ptr<ros::Clock> clock;
  std::unique_ptr<ros::TransformLookup> transforms;
  std::unique_ptr<ros::Log> log;
  std::unique_ptr<ros::Output> output;
  std::unique_ptr<ros::MapLoader> map_loader;  // null: without
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
