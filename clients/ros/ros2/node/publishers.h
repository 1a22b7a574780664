// SPDX-License-Identifier: Apache-2.0
//
// NodeOutput: the topics of the bridge as publishers of a node, /diagnostics and /tf.
//
// Threads: as ros::Output says. A message that cannot be published is an error in the log, at most
// one a second, and nothing else.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_PUBLISHERS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_PUBLISHERS_H_

#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <vector>

#include "clients/ros/core/ports.h"
#include "clients/ros/ros2/node/ros_versions.h"

namespace voxloc::ros2 {

class NodeOutput : public ros::Output {
 public:
  explicit NodeOutput(rclcpp::Node& node);

  [[nodiscard]] bool HasSubscribers(ros::Topic topic) const override;

  void Publish(ros::Topic topic, const ros::PoseStamped& message) override;
  void Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) override;
  void Publish(ros::Topic topic, const ros::PoseArray& message) override;
  void Publish(ros::Topic topic, ros::PointCloud2 message) override;
  void Publish(ros::Topic topic, const ros::Float32Stamped& message) override;
  void Publish(ros::Topic topic, const ros::Int32Stamped& message) override;
  void Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) override;

  void PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) override;
  void Broadcast(const ros::TransformStamped& transform) override;

 private:
  // Publishes a message by unique_ptr, so that subscribers in the same process get it without a
  // copy.
  template <typename Message>
  void Send(ros::Topic topic, std::unique_ptr<Message> message);
  template <typename Function>
  void Guard(const char* what, const Function& function);

  rclcpp::Logger logger_;
  rclcpp::Clock steady_clock_{RCL_STEADY_TIME};
  std::vector<rclcpp::PublisherBase::SharedPtr> publishers_;  // by Topic
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostics_;
  tf2_ros::TransformBroadcaster transforms_;
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_PUBLISHERS_H_
