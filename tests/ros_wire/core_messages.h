// SPDX-License-Identifier: Apache-2.0
//
// Between the messages of the bridge's core and those on the wire. What is made for the wire refers
// to the message that it is made of, which must outlive it.

#ifndef VOXLOC_TESTS_ROS_WIRE_CORE_MESSAGES_H_
#define VOXLOC_TESTS_ROS_WIRE_CORE_MESSAGES_H_

#include <vector>

#include "clients/ros/core/messages.h"
#include "tests/ros_wire/wire_types.h"

namespace voxloc::ros_wire {

// The fields of a cloud, which a view of it refers to.
[[nodiscard]] std::vector<ros::PointField> FieldsOf(const PointCloud2Message& message);
[[nodiscard]] ros::PointCloud2View ViewOf(const PointCloud2Message& message,
                                          const std::vector<ros::PointField>& fields);
[[nodiscard]] ros::PoseWithCovarianceStamped ToCore(
    const PoseWithCovarianceStampedMessage& message);
[[nodiscard]] ros::TwistStamped ToCore(const TwistStampedMessage& message);
[[nodiscard]] ros::TwistStamped ToCore(const TwistWithCovarianceStampedMessage& message);

[[nodiscard]] PoseStampedMessage ToWire(const ros::PoseStamped& message);
[[nodiscard]] PoseWithCovarianceStampedMessage ToWire(
    const ros::PoseWithCovarianceStamped& message);
[[nodiscard]] TwistWithCovarianceStampedMessage ToWire(
    const ros::TwistWithCovarianceStamped& message);
[[nodiscard]] TransformStampedMessage ToWire(const ros::TransformStamped& message);
[[nodiscard]] MarkerMessage ToWire(const ros::ArrowMarker& message);

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_CORE_MESSAGES_H_
