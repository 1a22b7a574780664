// SPDX-License-Identifier: Apache-2.0
//
// NdtScanMatcher: the node that takes the place of Autoware's ndt_scan_matcher. It converts, and
// hands over to voxloc::ros::Bridge, which does the work; README.md has its topics and services.
//
// No callback blocks, so that the node works with any executor. Scans, poses, services, the timer
// and the map loader have separate callback groups.
// The constructor throws std::invalid_argument when a parameter cannot be used. The destructor ends
// the session with the server.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_NDT_SCAN_MATCHER_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_NDT_SCAN_MATCHER_H_

#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/ros/core/parameter_table.h"
#include "clients/ros/core/parameters.h"

namespace voxloc::ros2 {

// Callback groups that can have work at the same time: scans, map, poses, services, timer, map
// loader.
inline constexpr size_t kCallbackGroups = 6;

class NdtScanMatcher : public rclcpp::Node {
 public:
  explicit NdtScanMatcher(const rclcpp::NodeOptions& options);
  ~NdtScanMatcher() override;
  NdtScanMatcher(const NdtScanMatcher&) = delete;
  NdtScanMatcher& operator=(const NdtScanMatcher&) = delete;

 private:
  // The bridge and its ports. Callbacks hold it weakly: an executor can still be in one while the
  // node is taken down.
  struct Parts;

  void SubscribeToPoints(const ros::Parameters& parameters);
  void SubscribeToMap();
  void SubscribeToPoses(const ros::Parameters& parameters);
  void CreateServices(bool shadow);

  std::shared_ptr<Parts> parts_;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;
  std::vector<rclcpp::ServiceBase::SharedPtr> services_;
  rclcpp::TimerBase::SharedPtr timer_;
};

// Declares every parameter of the bridge's table with its default. Returns the values in effect and
// a warning for each unknown name. They are read when the node starts; setting one later is
// refused. InvalidArgument: an invalid value.
[[nodiscard]] absl::StatusOr<ros::LoadedParameters> DeclareParameters(rclcpp::Node& node);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_NDT_SCAN_MATCHER_H_
