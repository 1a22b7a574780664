// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/publishers.h"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {
namespace {

using autoware_internal_debug_msgs::msg::Float32Stamped;
using autoware_internal_debug_msgs::msg::Int32Stamped;
using diagnostic_msgs::msg::DiagnosticArray;
using geometry_msgs::msg::PoseArray;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::PoseWithCovarianceStamped;
using sensor_msgs::msg::PointCloud2;
using visualization_msgs::msg::MarkerArray;

// As Autoware's DiagnosticsInterface has it.
constexpr char kDiagnosticsTopic[] = "/diagnostics";
constexpr size_t kDiagnosticsDepth = 10;
constexpr int64_t kLogPeriodMs = 1000;

template <typename Message>
rclcpp::PublisherBase::SharedPtr CreateFor(rclcpp::Node& node, const ros::TopicInfo& info) {
  rclcpp::QoS qos(static_cast<size_t>(info.depth));
  rclcpp::PublisherOptions options;
  if (info.transient_local) {
    qos.transient_local();
    // Humble does not support transient local topics with intra-process communication.
    options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  }
  return node.create_publisher<Message>(info.name, qos, options);
}

rclcpp::PublisherBase::SharedPtr Create(rclcpp::Node& node, const ros::TopicInfo& info) {
  switch (info.type) {
    case ros::MessageType::kPoseStamped:
      return CreateFor<PoseStamped>(node, info);
    case ros::MessageType::kPoseWithCovarianceStamped:
      return CreateFor<PoseWithCovarianceStamped>(node, info);
    case ros::MessageType::kPoseArray:
      return CreateFor<PoseArray>(node, info);
    case ros::MessageType::kPointCloud2:
      return CreateFor<PointCloud2>(node, info);
    case ros::MessageType::kFloat32Stamped:
      return CreateFor<Float32Stamped>(node, info);
    case ros::MessageType::kInt32Stamped:
      return CreateFor<Int32Stamped>(node, info);
    case ros::MessageType::kMarkerArray:
      return CreateFor<MarkerArray>(node, info);
  }
  throw std::logic_error(std::string("no publisher for the type of the topic ") + info.name);
}

template <typename Message>
std::unique_ptr<Message> Owned(Message message) {
  return std::make_unique<Message>(std::move(message));
}

}  // namespace

NodeOutput::NodeOutput(rclcpp::Node& node)
    : logger_(node.get_logger()),
      diagnostics_(node.create_publisher<DiagnosticArray>(kDiagnosticsTopic, kDiagnosticsDepth)),
      transforms_(node) {
  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    publishers_.push_back(Create(node, info));
  }
}

bool NodeOutput::HasSubscribers(ros::Topic topic) const {
  const rclcpp::PublisherBase& publisher = *publishers_[static_cast<size_t>(topic)];
  try {
    return publisher.get_subscription_count() + publisher.get_intra_process_subscription_count() >
           0;
  } catch (const std::exception&) {
    return false;  // ROS is being shut down
  }
}

template <typename Function>
void NodeOutput::Guard(const char* what, const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    if (rclcpp::ok()) {
      RCLCPP_ERROR_THROTTLE(logger_, steady_clock_, kLogPeriodMs, "%s was not published: %s", what,
                            error.what());
    }
  }
}

template <typename Message>
void NodeOutput::Send(ros::Topic topic, std::unique_ptr<Message> message) {
  Guard(ros::InfoOf(topic).name, [&] {
    std::static_pointer_cast<rclcpp::Publisher<Message>>(publishers_[static_cast<size_t>(topic)])
        ->publish(std::move(message));
  });
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseStamped& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::Publish(ros::Topic topic, const ros::PoseArray& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::Publish(ros::Topic topic, ros::PointCloud2 message) {
  Send(topic, ToRos(std::move(message)));
}

void NodeOutput::Publish(ros::Topic topic, const ros::Float32Stamped& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::Publish(ros::Topic topic, const ros::Int32Stamped& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) {
  Send(topic, Owned(ToRos(message)));
}

void NodeOutput::PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) {
  auto message = std::make_unique<DiagnosticArray>();
  message->header.stamp = ToTime(stamp_ns);
  message->status.push_back(ToRos(status));
  Guard(kDiagnosticsTopic, [&] { diagnostics_->publish(std::move(message)); });
}

void NodeOutput::Broadcast(const ros::TransformStamped& transform) {
  Guard("/tf", [&] { transforms_.sendTransform(ToRos(transform)); });
}

}  // namespace voxloc::ros2
