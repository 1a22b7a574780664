// SPDX-License-Identifier: Apache-2.0
//
// Between the messages of ROS and those of the bridge. Points are never copied: on the way in a
// view points into the message, on the way out the buffer is moved. Thread-safe: pure functions.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_CONVERSIONS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_CONVERSIONS_H_

#include <autoware_internal_debug_msgs/msg/float32_stamped.hpp>
#include <autoware_internal_debug_msgs/msg/int32_stamped.hpp>
#include <builtin_interfaces/msg/time.hpp>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <geometry_msgs/msg/pose.hpp>
#include <geometry_msgs/msg/pose_array.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/pose_with_covariance_stamped.hpp>
#include <geometry_msgs/msg/transform.hpp>
#include <geometry_msgs/msg/transform_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <geometry_msgs/msg/twist_with_covariance_stamped.hpp>
#include <memory>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <std_msgs/msg/header.hpp>
#include <vector>
#include <visualization_msgs/msg/marker_array.hpp>

#include "clients/ros/core/messages.h"

namespace voxloc::ros2 {

[[nodiscard]] int64_t StampNs(const builtin_interfaces::msg::Time& time);
// Clamped to the range of the message, 1901 to 2038.
[[nodiscard]] builtin_interfaces::msg::Time ToTime(int64_t stamp_ns);

// A cloud as the bridge reads it. It points into the message, which must outlive it.
class CloudView {
 public:
  explicit CloudView(const sensor_msgs::msg::PointCloud2& message);
  CloudView(const CloudView&) = delete;
  CloudView& operator=(const CloudView&) = delete;
  CloudView(CloudView&&) = default;
  CloudView& operator=(CloudView&&) = default;

  [[nodiscard]] const ros::PointCloud2View& view() const { return view_; }

 private:
  std::vector<ros::PointField> fields_;
  ros::PointCloud2View view_;
};

[[nodiscard]] ros::Header FromRos(const std_msgs::msg::Header& message);
[[nodiscard]] Pose FromRos(const geometry_msgs::msg::Pose& message);
[[nodiscard]] Pose FromRos(const geometry_msgs::msg::Transform& message);
[[nodiscard]] ros::PoseWithCovarianceStamped FromRos(
    const geometry_msgs::msg::PoseWithCovarianceStamped& message);
[[nodiscard]] ros::TwistStamped FromRos(const geometry_msgs::msg::TwistStamped& message);
[[nodiscard]] ros::TwistStamped FromRos(
    const geometry_msgs::msg::TwistWithCovarianceStamped& message);

[[nodiscard]] std_msgs::msg::Header ToRos(const ros::Header& header);
[[nodiscard]] geometry_msgs::msg::Pose ToRos(const Pose& pose);
[[nodiscard]] geometry_msgs::msg::PoseStamped ToRos(const ros::PoseStamped& message);
[[nodiscard]] geometry_msgs::msg::PoseWithCovarianceStamped ToRos(
    const ros::PoseWithCovarianceStamped& message);
[[nodiscard]] geometry_msgs::msg::TwistWithCovarianceStamped ToRos(
    const ros::TwistWithCovarianceStamped& message);
[[nodiscard]] geometry_msgs::msg::PoseArray ToRos(const ros::PoseArray& message);
[[nodiscard]] std::unique_ptr<sensor_msgs::msg::PointCloud2> ToRos(ros::PointCloud2 message);
[[nodiscard]] autoware_internal_debug_msgs::msg::Float32Stamped ToRos(
    const ros::Float32Stamped& message);
[[nodiscard]] autoware_internal_debug_msgs::msg::Int32Stamped ToRos(
    const ros::Int32Stamped& message);
[[nodiscard]] visualization_msgs::msg::MarkerArray ToRos(
    const std::vector<ros::ArrowMarker>& markers);
[[nodiscard]] diagnostic_msgs::msg::DiagnosticStatus ToRos(const ros::DiagnosticStatus& status);
[[nodiscard]] geometry_msgs::msg::TransformStamped ToRos(const ros::TransformStamped& transform);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_CONVERSIONS_H_
