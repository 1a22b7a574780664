// SPDX-License-Identifier: Apache-2.0
//
// The bridge's core as a node on the wire: what clients/ros/ros2 does with rclcpp, done here with
// Cyclone DDS, for tests. Topics, services and their qualities of service are ROS's; parameters are
// given as values. A callback group each for clouds, poses, services, and the clock with
// transforms, and a thread for the timer.

#ifndef VOXLOC_TESTS_ROS_WIRE_BRIDGE_NODE_H_
#define VOXLOC_TESTS_ROS_WIRE_BRIDGE_NODE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/ros/core/bridge.h"
#include "clients/ros/core/parameters.h"

namespace voxloc::ros_wire {

struct BridgeNodeOptions {
  std::string settings;  // of Cyclone DDS, see loopback_domain.h
  std::string name = "ndt_scan_matcher";
  ros::Parameters parameters;
  bool use_sim_time = false;     // time is what /clock says
  bool reliable_clouds = false;  // Autoware's node asks for best effort
};

class BridgeNode {
 public:
  // Errors are those of JoinedDomain::Join, Node::Create and ros::Bridge::Create.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<BridgeNode>> Create(
      const BridgeNodeOptions& options);
  ~BridgeNode();

  [[nodiscard]] const ros::Bridge& bridge() const;
  // The node's time.
  [[nodiscard]] int64_t NowNs() const;
  // Whether the node has the transform at that time.
  [[nodiscard]] bool HasTransform(const std::string& target_frame, const std::string& source_frame,
                                  int64_t stamp_ns) const;
  // Whether the node knows a reader of its diagnostics. What it published before is lost to it.
  [[nodiscard]] bool HasDiagnosticsReader() const;
  // The lines that the bridge has logged.
  [[nodiscard]] std::string LogText() const;

 private:
  struct Parts;
  explicit BridgeNode(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_BRIDGE_NODE_H_
