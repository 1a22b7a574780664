// SPDX-License-Identifier: Apache-2.0
//
// NodeMapLoader: the client of pcd_loader_service, in a callback group of its own. Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_NODE_MAP_LOADER_H_
#define VOXLOC_CLIENTS_ROS_ROS2_NODE_MAP_LOADER_H_

#include <autoware_map_msgs/srv/get_differential_point_cloud_map.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <rclcpp/rclcpp.hpp>

#include "clients/ros/core/ports.h"

namespace voxloc::ros2 {

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

#endif  // VOXLOC_CLIENTS_ROS_ROS2_NODE_MAP_LOADER_H_
