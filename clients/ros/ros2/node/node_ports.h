// SPDX-License-Identifier: Apache-2.0
//
// The bridge's ports as a node has them: clock, transforms, log, outputs and map loader.
// Thread-safe, except for NodeOutput.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_

#include <autoware_map_msgs/srv/get_differential_point_cloud_map.hpp>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <string>
#include <vector>

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

// NodeOutput: the topics of the bridge as publishers of a node, /diagnostics and /tf.
//
// Threads: as ros::Output says. A message that cannot be published is an error in the log, at most
// one a second, and nothing else.
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

// NodeMapLoader: the client of pcd_loader_service, in a callback group of its own. Thread-safe.
class NodeMapLoader : public ros::MapLoader {
 public:
  explicit NodeMapLoader(rclcpp::Node& node);
  // A pending request ends with Cancelled.
  ~NodeMapLoader() override;
  NodeMapLoader(const NodeMapLoader&) = delete;
  NodeMapLoader& operator=(const NodeMapLoader&) = delete;

  [[nodiscard]] bool IsReady() const override;
  // A request without an answer ends with DeadlineExceeded when the next one is sent.
  void Request(const ros::MapAreaRequest& request, Done done) override;

 private:
  using Service = autoware_map_msgs::srv::GetDifferentialPointCloudMap;
  struct PendingRequest;

  // Ends the open request, if there is one, with this error.
  void AbortPending(const absl::Status& error);

  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::Client<Service>::SharedPtr client_;
  std::mutex mutex_;
  std::shared_ptr<PendingRequest> pending_;  // the last one
  std::optional<int64_t> request_id_;
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_NODE_PORTS_H_
