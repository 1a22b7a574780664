// SPDX-License-Identifier: Apache-2.0
//
// Bridge: Autoware's ndt_scan_matcher without ROS, and without a GPU on the vehicle. An adapter
// hands it what the subscriptions, the services and the timer receive; it answers through the
// ports.
//
//   auto bridge = Bridge::Create(node_name, parameters, ports);
//   subscription of points_raw:                (*bridge)->OnPoints(view);
//   subscription of ekf_pose_with_covariance:  (*bridge)->OnInitialPose(pose);
//   ...
//   timer, each second:                        (*bridge)->OnTimer();
//
// A scan that passes the vehicle's checks is sent to the server without blocking the callback; its
// answer is published when it arrives. Each scan has exactly one scan_matching_status. If the
// server or the link is slower than the LiDAR, older scans are dropped. Without a server each scan
// ends with a warning.
//
// Threads: all methods are thread-safe, and none waits for the network, for another callback's
// work, or for a subscriber. The destructor ends the session and joins the bridge's threads; ports
// are not called after it.

#ifndef VOXLOC_CLIENTS_ROS_CORE_BRIDGE_H_
#define VOXLOC_CLIENTS_ROS_CORE_BRIDGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "clients/ros/core/align_service.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "clients/ros/core/server_link.h"

namespace voxloc::ros {

// std_srvs/SetBool's response.
struct TriggerResponse {
  bool success = true;
  std::string message;
};

// Counts of scans since the start. received = refused + sent; sent = outcomes once none is pending.
struct BridgeCounters {
  uint64_t received = 0;  // scans, which can have several clouds
  uint64_t refused = 0;   // by the checks of the vehicle, inactive ones included, or not sendable
  uint64_t sent = 0;
  uint64_t outcomes = 0;         // of the sent
  uint64_t published = 0;        // poses
  uint64_t dropped_outputs = 0;  // because subscribers were too slow
};

class Bridge {
 public:
  // The server need not be reachable. InvalidArgument: an invalid parameter, TLS file or token
  // file; see ValidateParameters and client::Channel::Create. Also where a node with voxloc.shadow
  // has the name of Autoware's node.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Bridge>> Create(std::string node_name,
                                                                      const Parameters& parameters,
                                                                      const Ports& ports);
  virtual ~Bridge() = default;
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // points_raw: source 0; topic i of voxloc.points.extra_topics: source i + 1.
  virtual void OnPoints(const PointCloud2View& cloud, size_t source) = 0;
  void OnPoints(const PointCloud2View& cloud) { OnPoints(cloud, 0); }
  // ekf_pose_with_covariance.
  virtual void OnInitialPose(const PoseWithCovarianceStamped& pose) = 0;
  // regularization_pose_with_covariance; to be subscribed to only with ndt.regularization.enable.
  virtual void OnRegularizationPose(const PoseWithCovarianceStamped& pose) = 0;
  // twist or twist_with_covariance; only with voxloc.twist_source = topic.
  virtual void OnTwist(const TwistStamped& twist) = 0;
  // initialpose, a pose that a person gives; only with voxloc.guess_source = odometry.
  virtual void OnUserPose(const PoseWithCovarianceStamped& pose) = 0;
  // kIncumbentPoseTopic, the vehicle's localizer; only with voxloc.shadow.
  virtual void OnIncumbentPose(const PoseWithCovarianceStamped& pose) = 0;
  // pointcloud_map; only with voxloc.pointcloud_map.
  virtual void OnPointCloudMap(const PointCloud2View& cloud) = 0;
  // Once a second of the node's clock.
  virtual void OnTimer() = 0;

  // trigger_node_srv.
  [[nodiscard]] virtual TriggerResponse Trigger(bool activate) = 0;
  // ndt_align_srv.
  virtual void Align(const PoseWithCovarianceStamped& request, AlignDone done) = 0;
  // reinitialize_global_localization: searches the whole map with the last scan; a pose that is
  // reliable and not ambiguous becomes the guess of the next scans with voxloc.guess_source =
  // odometry.
  virtual void Reinitialize(AlignDone done) = 0;

  [[nodiscard]] virtual bool is_activated() const = 0;
  [[nodiscard]] virtual BridgeCounters counters() const = 0;
  [[nodiscard]] virtual ServerState server() const = 0;

 protected:
  Bridge() = default;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_BRIDGE_H_
