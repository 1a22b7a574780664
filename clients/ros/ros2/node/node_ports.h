// SPDX-License-Identifier: Apache-2.0
//
// The bridge's clock, transforms and log, as a node has them. Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_

#include <cstdint>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <string>

#include "clients/ros/core/ports.h"
#include "clients/ros/ros2/node/ros_versions.h"

namespace voxloc::ros2 {

// The node's time: /clock with use_sim_time.
class NodeClock : public ros::Clock {
 public:
  explicit NodeClock(rclcpp::Node& node) : clock_(node.get_clock()) {}

  [[nodiscard]] int64_t NowNs() const override { return clock_->now().nanoseconds(); }
  [[nodiscard]] bool IsSimulated() const override { return clock_->ros_time_is_active(); }

 private:
  rclcpp::Clock::SharedPtr clock_;
};

// /tf and /tf_static, received by a thread of its own: no callback of the node waits for it.
class NodeTransforms : public ros::TransformLookup {
 public:
  explicit NodeTransforms(rclcpp::Node& node);

  [[nodiscard]] absl::StatusOr<Pose> Lookup(const std::string& target_frame,
                                            const std::string& source_frame,
                                            std::optional<int64_t> stamp_ns) const override;

 private:
  tf2_ros::Buffer buffer_;
  tf2_ros::TransformListener listener_;
};

class NodeLog : public ros::Log {
 public:
  explicit NodeLog(rclcpp::Node& node) : logger_(node.get_logger()) {}

  void Write(ros::LogLevel level, absl::string_view text) override;

 private:
  rclcpp::Logger logger_;
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
