// SPDX-License-Identifier: Apache-2.0
//
// From the server's answer to everything that Autoware's node publishes for a scan: what, with
// which values, and when (poses only where the result was accepted; the rest for every scan that
// was aligned); and what the session's filter says. Arrows have the namespaces, ids, sizes, colours
// and lifetimes of Autoware's node. ResultOutputs is for one thread; the rest are pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_
#define VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::ros {

// What the bridge knows of a scan in addition to its answer.
struct ScanContext {
  uint64_t number = 0;  // in the order of sending, counted from 1
  int64_t stamp_ns = 0;
  double execution_time_ms = 0.0;           // from the message to here
  std::optional<Matrix6> guess_covariance;  // of the pose that the guess was interpolated from
};

class ResultOutputs {
 public:
  // Both outlive it.
  ResultOutputs(const Parameters& parameters, Output& output)
      : parameters_(parameters), output_(output) {}

  // Publishes. True: the scan's own pose was. An answer without a pose publishes at most that of
  // the filter. Where answers come out of order, the transform of the newest scan stays.
  bool Publish(const v1::AlignmentResult& result, const ScanContext& scan);

 private:
  void BroadcastTransform(const v1::AlignmentResult& result, const ScanContext& scan);

  const Parameters& parameters_;
  Output& output_;
  uint64_t last_transform_ = 0;  // number of its scan
};

// Blue at 0, red at 1, values outside clamped: the colours of Autoware's markers and score cloud.
[[nodiscard]] Color ColorOfRatio(double share);

// ndt_marker: an arrow per pose of the trace, the guess first, padded with arrows at the map's
// origin to max_iterations + 2, which overwrite the markers of an earlier scan.
[[nodiscard]] std::vector<ArrowMarker> StepMarkers(const v1::AlignmentTrace& trace,
                                                   const Pose& map_T_base_guess,
                                                   const Header& header, int64_t max_iterations);

// monte_carlo_initial_pose_marker: six arrows a particle, which live for 10 s.
[[nodiscard]] std::vector<ArrowMarker> ParticleMarkers(const v1::SearchParticle& particle,
                                                       const Header& header);

// x, y, z as float32, 12 bytes a point, with the cloud's origin added.
[[nodiscard]] PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud);

// The same from a message. InvalidArgument: see client::DecodePoints.
[[nodiscard]] absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud);

// The matched points with the colours of their scores: x, y, z, rgb (as pcl packs it into a
// float32: 0x00RRGGBB), 16 bytes a point. InvalidArgument: as many colours and scores as points are
// needed.
[[nodiscard]] absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                                     const v1::PointScores& scores);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_RESULT_OUTPUTS_H_
