// SPDX-License-Identifier: Apache-2.0
//
// The quality of service of services and their clients: ROS's default for them, in the type that
// this version of rclcpp takes.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_SERVICES_QOS_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_SERVICES_QOS_H_

#include <rclcpp/version.h>
#include <rmw/qos_profiles.h>

#include <rclcpp/qos.hpp>

namespace voxloc::ros2 {

// rclcpp takes rclcpp::QoS here since 17.0; Humble has 16.
#if RCLCPP_VERSION_GTE(17, 0, 0)
inline rclcpp::QoS ServicesQos() { return rclcpp::ServicesQoS(); }
#else
inline rmw_qos_profile_t ServicesQos() { return rmw_qos_profile_services_default; }
#endif

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_SERVICES_QOS_H_
