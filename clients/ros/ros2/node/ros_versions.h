// SPDX-License-Identifier: Apache-2.0
//
// What differs between versions of ROS 2 and of Autoware.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_ROS_VERSIONS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_ROS_VERSIONS_H_

#include <rclcpp/version.h>
#include <rmw/qos_profiles.h>

#include <rclcpp/qos.hpp>

#if defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
#include <tier4_localization_msgs/srv/pose_with_covariance_stamped.hpp>
#else
#include <autoware_internal_localization_msgs/srv/pose_with_covariance_stamped.hpp>
#endif

// The headers of tf2 end in .hpp in the newest versions of ROS 2 and in .h in older ones.
#if __has_include(<tf2_ros/buffer.hpp>)
#include <tf2/exceptions.hpp>
#include <tf2/time.hpp>
#include <tf2_ros/buffer.hpp>
#include <tf2_ros/static_transform_broadcaster.hpp>
#include <tf2_ros/transform_broadcaster.hpp>
#include <tf2_ros/transform_listener.hpp>
#else
#include <tf2/exceptions.h>
#include <tf2/time.h>
#include <tf2_ros/buffer.h>
#include <tf2_ros/static_transform_broadcaster.h>
#include <tf2_ros/transform_broadcaster.h>
#include <tf2_ros/transform_listener.h>
#endif

namespace voxloc::ros2 {

// The type of ndt_align_srv: autoware_internal_localization_msgs, or tier4_localization_msgs of
// older Autoware, which does not say whether the pose is reliable. CMake chooses what is installed.
#if defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
using AlignServiceType = tier4_localization_msgs::srv::PoseWithCovarianceStamped;
inline void SetReliable(AlignServiceType::Response& /*response*/, bool /*reliable*/) {}
#else
using AlignServiceType = autoware_internal_localization_msgs::srv::PoseWithCovarianceStamped;
inline void SetReliable(AlignServiceType::Response& response, bool reliable) {
  response.reliable = reliable;
}
#endif

// The quality of service of services and their clients, ROS's default for them. rclcpp takes
// rclcpp::QoS here since 17.0; Humble has 16.
#if RCLCPP_VERSION_GTE(17, 0, 0)
inline rclcpp::QoS ServicesQos() { return rclcpp::ServicesQoS(); }
#else
inline rmw_qos_profile_t ServicesQos() { return rmw_qos_profile_services_default; }
#endif

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_ROS_VERSIONS_H_
