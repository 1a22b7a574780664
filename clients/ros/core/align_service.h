// SPDX-License-Identifier: Apache-2.0
//
// AlignService: the searches of ndt_align_srv, and of reinitialize_global_localization, one after
// another on a thread of its own. Thread-safe; no method waits.

#ifndef VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_
#define VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "clients/cpp/channel.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::ros {

// autoware_internal_localization_msgs/PoseWithCovarianceStamped's response;
// tier4_localization_msgs' has no `reliable`.
struct AlignResponse {
  bool success = false;
  bool reliable = false;
  bool ambiguous = false;  // another, distinct pose explains the scan nearly as well
  PoseWithCovarianceStamped pose_with_covariance;
  std::string detail;  // why not, for people; empty: success
  // What the server added to the height of a prior that misses the map's surface, metres; 0:
  // nothing, or there was no search.
  double prior_height_shift_m = 0.0;
};

// Called once, by a thread of the bridge's own.
using AlignDone = std::function<void(const AlignResponse&)>;

// What a search is to find.
struct AlignCall {
  int64_t now_ns = 0;
  // In any frame; nullopt: anywhere in the map.
  std::optional<PoseWithCovarianceStamped> prior;
  // Only how far the prior's height is from the map's surface is wanted: one candidate is aligned,
  // variances of 0, as planar poses have them, are no errors, and no diagnostics are published.
  bool height_only = false;
  // The last scan that passed the checks; null: there is none yet.
  std::shared_ptr<const v1::Scan> scan;
  // Whether the server has the map, as far as is known.
  bool map_known = false;
  // For a map feeder: called before the search with the prior's position, so that the map is there.
  // Its keys go into the report. May be empty.
  std::function<void(const Eigen::Vector3d& position_map, StatusReport& report)> before_search;
};

class AlignService {
 public:
  // More calls that wait are refused at once.
  static constexpr size_t kMaxWaiting = 4;

  // `publish` hands a task to the thread that publishes. All outlive it.
  AlignService(const client::Channel& channel, const Parameters& parameters, std::string node_name,
               const Ports& ports, std::function<void(std::function<void()>)> publish);
  // Cancels the search that runs; calls that wait are answered.
  ~AlignService();
  AlignService(const AlignService&) = delete;
  AlignService& operator=(const AlignService&) = delete;

  void Call(AlignCall call, AlignDone done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_
