// SPDX-License-Identifier: Apache-2.0
//
// AlignService: runs the searches of ndt_align_srv and reinitialize_global_localization one after
// another on its own thread. Thread-safe; no method blocks.

#ifndef VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_
#define VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "clients/ros/core/serial_worker.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::ros {

// autoware_internal_localization_msgs/PoseWithCovarianceStamped's response;
// tier4_localization_msgs' has no `reliable`.
struct AlignResponse {
  bool success = false;
  bool reliable = false;
  bool ambiguous = false;  // another, distinct pose explains the scan nearly as well
  PoseWithCovarianceStamped pose_with_covariance;
  std::string detail;  // the reason of a failure, for people; empty on success
  // Metres that the server added to the height of a prior that was off the map's surface; 0 if none
  // or without a search.
  double prior_height_shift_m = 0.0;
};

// Called exactly once, on a thread of the bridge.
using AlignDone = std::function<void(const AlignResponse&)>;

// The arguments of a search.
struct AlignCall {
  int64_t now_ns = 0;
  // In any frame; nullopt: anywhere in the map.
  std::optional<PoseWithCovarianceStamped> prior;
  // Only computes the distance of the prior's height from the map's surface: aligns one candidate,
  // accepts variances of 0 (planar poses), and publishes no diagnostics.
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
  // Further calls are rejected at once.
  static constexpr size_t kMaxWaiting = 4;

  // `publish` hands a task to the thread that publishes. All outlive it.
  AlignService(const client::Channel& channel, const Parameters& parameters, std::string node_name,
               const Ports& ports, std::function<void(std::function<void()>)> publish)
      : channel_(channel),
        parameters_(parameters),
        node_name_(std::move(node_name)),
        ports_(ports),
        publish_(std::move(publish)) {}
  // Cancels the running search and answers the queued calls.
  ~AlignService() { stopping_ = true; }
  AlignService(const AlignService&) = delete;
  AlignService& operator=(const AlignService&) = delete;

  void Call(AlignCall call, AlignDone done);

 private:
  class OneTimeResponse;

  void HandleCall(const AlignCall& call, OneTimeResponse& answer);
  // Runs the search; adds all diagnostic keys but those that every call has.
  AlignResponse SearchAndReport(const AlignCall& call, StatusReport& report);
  absl::StatusOr<PoseWithCovarianceStamped> InMap(const PoseWithCovarianceStamped& prior);
  absl::StatusOr<v1::SearchResult> Search(const AlignCall& call,
                                          const PoseWithCovarianceStamped* prior_map);
  AlignResponse ResponseFrom(const v1::SearchResult& result, const AlignCall& call,
                             StatusReport& report);

  const client::Channel channel_;
  const Parameters& parameters_;
  const std::string node_name_;
  const Ports ports_;
  const std::function<void(std::function<void()>)> publish_;
  std::atomic<bool> stopping_{false};
  SerialWorker worker_{kMaxWaiting};  // last: its tasks use the rest
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_ALIGN_SERVICE_H_
