// SPDX-License-Identifier: Apache-2.0
//
// CapturedScan: a scan with a bad result, and its conversion to a capture: an AlignScanRequest from
// which the same engine computes a bit-identical pose. Not thread-safe.
//
// What a session knew when the scan was aligned is written out in the request: the guess with its
// covariance, wherever it came from, the motion that the points were moved by, and the reference
// position. Points are those of the client, with their mounts, stamps and times. Where the session
// joined the scan with earlier ones, they are the joint cloud as it was aligned: the pose is the
// same, and what is estimated of single rays (the confidence, and a verdict that follows from it)
// may differ. So may a verdict that the session's earlier results had a part in.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURED_SCAN_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURED_SCAN_H_

#include <Eigen/Core>
#include <memory>
#include <optional>

#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "server/session/session_state.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/capture.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// What an alignment starts from besides the message of its scan.
struct AlignmentInputs {
  std::optional<Pose> guess_map_T_base;
  std::optional<Matrix6> guess_covariance;
  std::optional<Twist> base_twist;
  std::optional<Eigen::Vector3d> reference_map;
  // With the scans before it; null: not joined.
  std::shared_ptr<const PointCloud> joint_base;
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();  // of a joint cloud's newest scan
  bool deskewed = false;
};

struct CapturedScan {
  std::shared_ptr<const ScanSource> source;
  std::unique_ptr<v1::Scan> scan;
  std::optional<AlignmentInputs> inputs;  // nullopt: the scan is malformed, and is kept as it came
  std::unique_ptr<v1::AlignmentResult> result;

  // As it lies in memory until it is written, about.
  [[nodiscard]] size_t bytes() const;
};

// The answer, without what is made of it alone: aligned_cloud, point_scores and trace. `result` is
// as before when it returns.
[[nodiscard]] std::unique_ptr<v1::AlignmentResult> ResultToCapture(v1::AlignmentResult& result);

// Whether a request leads to the same pose. False: the scan was joined with earlier ones, and its
// sensor's calibration moves mounts, which would move the joint cloud.
[[nodiscard]] bool IsReplayable(const ScanSource& source, const AlignmentInputs& inputs);

// The capture, without an id and without its size. The scan's points are moved.
[[nodiscard]] v1::Capture MakeCapture(CapturedScan captured, int64_t captured_unix_ns);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURED_SCAN_H_
