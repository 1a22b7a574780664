// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/conversions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace voxloc::ros2 {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;
using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

Pose MakePose(const Eigen::Vector3d& translation, const geometry_msgs::msg::Quaternion& rotation) {
  return {translation, Eigen::Quaterniond(rotation.w, rotation.x, rotation.y, rotation.z)};
}

geometry_msgs::msg::Quaternion ToQuaternion(const Eigen::Quaterniond& rotation) {
  geometry_msgs::msg::Quaternion result;
  result.x = rotation.x();
  result.y = rotation.y();
  result.z = rotation.z();
  result.w = rotation.w();
  return result;
}

Twist TwistFromRos(const geometry_msgs::msg::Twist& message) {
  const auto& linear = message.linear;
  const auto& angular = message.angular;
  return {{linear.x, linear.y, linear.z}, {angular.x, angular.y, angular.z}};
}

geometry_msgs::msg::Vector3 VectorToRos(const Eigen::Vector3d& vector) {
  geometry_msgs::msg::Vector3 result;
  result.x = vector.x();
  result.y = vector.y();
  result.z = vector.z();
  return result;
}

template <typename Result, typename Message>
Result NumberToRos(const Message& message) {
  Result result;
  result.stamp = ToTime(message.stamp_ns);
  result.data = message.data;
  return result;
}

}  // namespace

int64_t StampNs(const builtin_interfaces::msg::Time& time) {
  return int64_t{time.sec} * kNsPerS + int64_t{time.nanosec};
}

builtin_interfaces::msg::Time ToTime(int64_t stamp_ns) {
  using Seconds = std::numeric_limits<int32_t>;
  int64_t seconds = stamp_ns / kNsPerS;
  int64_t nanoseconds = stamp_ns % kNsPerS;
  if (nanoseconds < 0) {
    seconds -= 1;
    nanoseconds += kNsPerS;
  }
  builtin_interfaces::msg::Time time;
  time.sec =
      static_cast<int32_t>(std::clamp(seconds, int64_t{Seconds::min()}, int64_t{Seconds::max()}));
  time.nanosec = static_cast<uint32_t>(nanoseconds);
  return time;
}

CloudView::CloudView(const sensor_msgs::msg::PointCloud2& message) {
  fields_.reserve(message.fields.size());
  for (const auto& field : message.fields) {
    fields_.push_back({field.name, field.offset, field.datatype, field.count});
  }
  view_.header = FromRos(message.header);
  view_.height = message.height;
  view_.width = message.width;
  view_.fields = absl::MakeConstSpan(fields_);
  view_.is_bigendian = message.is_bigendian;
  view_.point_step = message.point_step;
  view_.row_step = message.row_step;
  view_.data = absl::MakeConstSpan(message.data);
}

ros::Header FromRos(const std_msgs::msg::Header& message) {
  return {StampNs(message.stamp), message.frame_id};
}

Pose FromRos(const geometry_msgs::msg::Pose& message) {
  return MakePose({message.position.x, message.position.y, message.position.z},
                  message.orientation);
}

Pose FromRos(const geometry_msgs::msg::Transform& message) {
  return MakePose({message.translation.x, message.translation.y, message.translation.z},
                  message.rotation);
}

ros::PoseWithCovarianceStamped FromRos(
    const geometry_msgs::msg::PoseWithCovarianceStamped& message) {
  ros::PoseWithCovarianceStamped result;
  result.header = FromRos(message.header);
  result.pose = FromRos(message.pose.pose);
  result.covariance = Eigen::Map<const RowMajor6>(message.pose.covariance.data());
  return result;
}

ros::TwistStamped FromRos(const geometry_msgs::msg::TwistStamped& message) {
  return {FromRos(message.header), TwistFromRos(message.twist)};
}

ros::TwistStamped FromRos(const geometry_msgs::msg::TwistWithCovarianceStamped& message) {
  return {FromRos(message.header), TwistFromRos(message.twist.twist)};
}

std_msgs::msg::Header ToRos(const ros::Header& header) {
  std_msgs::msg::Header result;
  result.stamp = ToTime(header.stamp_ns);
  result.frame_id = header.frame_id;
  return result;
}

geometry_msgs::msg::Pose ToRos(const Pose& pose) {
  geometry_msgs::msg::Pose result;
  result.position.x = pose.translation.x();
  result.position.y = pose.translation.y();
  result.position.z = pose.translation.z();
  result.orientation = ToQuaternion(pose.rotation);
  return result;
}

geometry_msgs::msg::PoseStamped ToRos(const ros::PoseStamped& message) {
  geometry_msgs::msg::PoseStamped result;
  result.header = ToRos(message.header);
  result.pose = ToRos(message.pose);
  return result;
}

geometry_msgs::msg::PoseWithCovarianceStamped ToRos(const ros::PoseWithCovarianceStamped& message) {
  geometry_msgs::msg::PoseWithCovarianceStamped result;
  result.header = ToRos(message.header);
  result.pose.pose = ToRos(message.pose);
  Eigen::Map<RowMajor6>(result.pose.covariance.data()) = message.covariance;
  return result;
}

geometry_msgs::msg::TwistWithCovarianceStamped ToRos(
    const ros::TwistWithCovarianceStamped& message) {
  geometry_msgs::msg::TwistWithCovarianceStamped result;
  result.header = ToRos(message.header);
  result.twist.twist.linear = VectorToRos(message.twist.linear_m_s);
  result.twist.twist.angular = VectorToRos(message.twist.angular_rad_s);
  Eigen::Map<RowMajor6>(result.twist.covariance.data()) = message.covariance;
  return result;
}

geometry_msgs::msg::PoseArray ToRos(const ros::PoseArray& message) {
  geometry_msgs::msg::PoseArray result;
  result.header = ToRos(message.header);
  result.poses.reserve(message.poses.size());
  for (const Pose& pose : message.poses) result.poses.push_back(ToRos(pose));
  return result;
}

std::unique_ptr<sensor_msgs::msg::PointCloud2> ToRos(ros::PointCloud2 message) {
  auto result = std::make_unique<sensor_msgs::msg::PointCloud2>();
  result->header = ToRos(message.header);
  result->height = 1;
  result->width = message.width;
  result->fields.reserve(message.fields.size());
  for (ros::PointField& field : message.fields) {
    sensor_msgs::msg::PointField& added = result->fields.emplace_back();
    added.name = std::move(field.name);
    added.offset = field.offset;
    added.datatype = field.datatype;
    added.count = field.count;
  }
  result->is_bigendian = false;
  result->point_step = message.point_step;
  result->row_step = message.point_step * message.width;
  result->data = std::move(message.data);
  result->is_dense = message.is_dense;
  return result;
}

autoware_internal_debug_msgs::msg::Float32Stamped ToRos(const ros::Float32Stamped& message) {
  return NumberToRos<autoware_internal_debug_msgs::msg::Float32Stamped>(message);
}

autoware_internal_debug_msgs::msg::Int32Stamped ToRos(const ros::Int32Stamped& message) {
  return NumberToRos<autoware_internal_debug_msgs::msg::Int32Stamped>(message);
}

visualization_msgs::msg::MarkerArray ToRos(const std::vector<ros::ArrowMarker>& markers) {
  visualization_msgs::msg::MarkerArray result;
  result.markers.reserve(markers.size());
  for (const ros::ArrowMarker& arrow : markers) {
    visualization_msgs::msg::Marker& marker = result.markers.emplace_back();
    marker.header = ToRos(arrow.header);
    marker.ns = arrow.ns;
    marker.id = arrow.id;
    marker.type = visualization_msgs::msg::Marker::ARROW;
    marker.action = visualization_msgs::msg::Marker::ADD;
    marker.pose = ToRos(arrow.pose);
    marker.scale.x = arrow.scale.x();
    marker.scale.y = arrow.scale.y();
    marker.scale.z = arrow.scale.z();
    marker.color.r = arrow.color.r;
    marker.color.g = arrow.color.g;
    marker.color.b = arrow.color.b;
    marker.color.a = arrow.color.a;
    const builtin_interfaces::msg::Time lifetime =
        ToTime(std::llround(arrow.lifetime_s * static_cast<double>(kNsPerS)));
    marker.lifetime.sec = lifetime.sec;
    marker.lifetime.nanosec = lifetime.nanosec;
  }
  return result;
}

diagnostic_msgs::msg::DiagnosticStatus ToRos(const ros::DiagnosticStatus& status) {
  diagnostic_msgs::msg::DiagnosticStatus result;
  result.level = static_cast<uint8_t>(status.level);
  result.name = status.name;
  result.message = status.message;
  result.hardware_id = status.hardware_id;
  result.values.reserve(status.values.size());
  for (const auto& value : status.values) {
    diagnostic_msgs::msg::KeyValue& added = result.values.emplace_back();
    added.key = value.key;
    added.value = value.value;
  }
  return result;
}

geometry_msgs::msg::TransformStamped ToRos(const ros::TransformStamped& transform) {
  geometry_msgs::msg::TransformStamped result;
  result.header = ToRos(transform.header);
  result.child_frame_id = transform.child_frame_id;
  const Eigen::Vector3d& translation = transform.parent_T_child.translation;
  result.transform.translation.x = translation.x();
  result.transform.translation.y = translation.y();
  result.transform.translation.z = translation.z();
  result.transform.rotation = ToQuaternion(transform.parent_T_child.rotation);
  return result;
}

}  // namespace voxloc::ros2
