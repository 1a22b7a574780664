// SPDX-License-Identifier: Apache-2.0
//
// The type of ndt_align_srv: autoware_internal_localization_msgs, or tier4_localization_msgs of
// older Autoware, which does not say whether the pose is reliable. CMake chooses what is installed.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_ALIGN_TYPE_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_ALIGN_TYPE_H_

#if defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
#include <tier4_localization_msgs/srv/pose_with_covariance_stamped.hpp>
#else
#include <autoware_internal_localization_msgs/srv/pose_with_covariance_stamped.hpp>
#endif

namespace voxloc::ros2 {

#if defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
using AlignServiceType = tier4_localization_msgs::srv::PoseWithCovarianceStamped;
inline void SetReliable(AlignServiceType::Response& /*response*/, bool /*reliable*/) {}
#else
using AlignServiceType = autoware_internal_localization_msgs::srv::PoseWithCovarianceStamped;
inline void SetReliable(AlignServiceType::Response& response, bool reliable) {
  response.reliable = reliable;
}
#endif

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_ALIGN_TYPE_H_
