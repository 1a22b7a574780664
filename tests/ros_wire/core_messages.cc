// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/core_messages.h"

#include <cmath>

#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {
namespace {

using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

constexpr int32_t kArrow = 0;  // visualization_msgs/Marker
constexpr int32_t kAdd = 0;

ros::Header HeaderOf(const HeaderMessage& header) {
  return {FromWire(header.stamp), header.frame_id == nullptr ? "" : header.frame_id};
}

HeaderMessage HeaderOf(const ros::Header& header) {
  return ToWire(header.stamp_ns, header.frame_id);
}

Twist TwistOf(const TwistMessage& twist) {
  const auto& [linear, angular] = twist;
  return {{linear.x, linear.y, linear.z}, {angular.x, angular.y, angular.z}};
}

}  // namespace

std::vector<ros::PointField> FieldsOf(const PointCloud2Message& message) {
  std::vector<ros::PointField> fields;
  for (uint32_t i = 0; i < message.fields._length; ++i) {
    const PointFieldMessage& field = message.fields._buffer[i];
    fields.push_back(
        {field.name == nullptr ? "" : field.name, field.offset, field.datatype, field.count});
  }
  return fields;
}

ros::PointCloud2View ViewOf(const PointCloud2Message& message,
                            const std::vector<ros::PointField>& fields) {
  return {HeaderOf(message.header),
          message.height,
          message.width,
          fields,
          message.is_bigendian,
          message.point_step,
          message.row_step,
          absl::MakeConstSpan(message.data._buffer, message.data._length)};
}

ros::PoseWithCovarianceStamped ToCore(const PoseWithCovarianceStampedMessage& message) {
  return {HeaderOf(message.header), FromWire(message.pose.pose),
          Eigen::Map<const RowMajor6>(message.pose.covariance)};
}

ros::TwistStamped ToCore(const TwistStampedMessage& message) {
  return {HeaderOf(message.header), TwistOf(message.twist)};
}

ros::TwistStamped ToCore(const TwistWithCovarianceStampedMessage& message) {
  return {HeaderOf(message.header), TwistOf(message.twist.twist)};
}

PoseStampedMessage ToWire(const ros::PoseStamped& message) {
  return {HeaderOf(message.header), ToWire(message.pose)};
}

PoseWithCovarianceStampedMessage ToWire(const ros::PoseWithCovarianceStamped& message) {
  PoseWithCovarianceStampedMessage made{};
  made.header = HeaderOf(message.header);
  made.pose.pose = ToWire(message.pose);
  Eigen::Map<RowMajor6>(made.pose.covariance) = message.covariance;
  return made;
}

TwistWithCovarianceStampedMessage ToWire(const ros::TwistWithCovarianceStamped& message) {
  const Eigen::Vector3d& linear = message.twist.linear_m_s;
  const Eigen::Vector3d& angular = message.twist.angular_rad_s;
  TwistWithCovarianceStampedMessage made{};
  made.header = HeaderOf(message.header);
  made.twist.twist = {{linear.x(), linear.y(), linear.z()},
                      {angular.x(), angular.y(), angular.z()}};
  Eigen::Map<RowMajor6>(made.twist.covariance) = message.covariance;
  return made;
}

TransformStampedMessage ToWire(const ros::TransformStamped& message) {
  TransformStampedMessage made{};
  made.header = HeaderOf(message.header);
  made.child_frame_id = Borrow(message.child_frame_id);
  const PoseMessage pose = ToWire(message.parent_T_child);
  made.transform.translation = {pose.position.x, pose.position.y, pose.position.z};
  made.transform.rotation = pose.orientation;
  return made;
}

MarkerMessage ToWire(const ros::ArrowMarker& message) {
  static const std::string none;
  MarkerMessage made{};
  made.header = HeaderOf(message.header);
  made.ns = Borrow(message.ns);
  made.id = message.id;
  made.type = kArrow;
  made.action = kAdd;
  made.pose = ToWire(message.pose);
  made.scale = {message.scale.x(), message.scale.y(), message.scale.z()};
  made.color = {message.color.r, message.color.g, message.color.b, message.color.a};
  const double seconds = std::floor(message.lifetime_s);
  made.lifetime = {static_cast<int32_t>(seconds),
                   static_cast<uint32_t>(1e9 * (message.lifetime_s - seconds))};
  made.texture_resource = made.texture.header.frame_id = made.texture.format = Borrow(none);
  made.text = made.mesh_resource = made.mesh_file.filename = Borrow(none);
  return made;
}

}  // namespace voxloc::ros_wire
