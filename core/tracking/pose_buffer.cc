// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_buffer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/geometry/euler.h"
#include "core/geometry/stamp.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

Pose Between(const Pose& from, const Pose& to, double share) {
  const Eigen::Vector3d start = RosAnglesFromRotation(from.rotation);
  const Eigen::Vector3d end = RosAnglesFromRotation(to.rotation);
  Eigen::Vector3d at;
  // The way from one angle to the other is in [-pi, pi).
  for (int i = 0; i < 3; ++i) at[i] = start[i] - share * WrapAngle(start[i] - end[i]);
  return {from.translation + share * (to.translation - from.translation),
          RotationFromRosAngles(at.x(), at.y(), at.z()).normalized()};
}

}  // namespace

absl::Status ValidatePoseBufferOptions(const PoseBufferOptions& options) {
  return CheckRanges({{"timeout_s", options.timeout_s, Over(0.0)},
                      {"distance_tolerance_m", options.distance_tolerance_m, Over(0.0)},
                      {"max_poses", options.max_poses, FromTo(2, kMaxBufferedPoses)}});
}

absl::Status PoseBuffer::Push(const BufferedPose& pose) {
  VOXLOC_ASSIGN_OR_RETURN(
      auto checked, PoseFromQuaternion(pose.map_T_base.translation, pose.map_T_base.rotation));
  if (!pose.covariance.allFinite()) {
    return absl::InvalidArgumentError("pose covariance has a value that is not finite");
  }
  if (!poses_.empty() && pose.stamp_ns < poses_.back().stamp_ns) poses_.clear();
  if (poses_.size() >= options_.max_poses) poses_.pop_front();
  poses_.push_back({pose.stamp_ns, checked, pose.covariance});
  return absl::OkStatus();
}

absl::StatusOr<InterpolatedPose> PoseBuffer::Interpolate(int64_t stamp_ns) const {
  if (poses_.size() < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat("interpolation needs at least 2 poses (got ", poses_.size(), ")"));
  }
  const int64_t first_ns = poses_.front().stamp_ns;
  if (stamp_ns < first_ns) {
    return absl::FailedPreconditionError(absl::StrCat("the stamp ", stamp_ns, " ns is ",
                                                      SecondsBetween(stamp_ns, first_ns),
                                                      " s before that of the first pose"));
  }
  auto newer = std::upper_bound(
      poses_.begin(), poses_.end(), stamp_ns,
      [](int64_t stamp, const BufferedPose& pose) { return stamp < pose.stamp_ns; });
  const auto older = std::prev(newer);
  if (newer == poses_.end()) newer = older;

  const double old_s = SecondsBetween(older->stamp_ns, stamp_ns);
  const double new_s = std::abs(SecondsBetween(newer->stamp_ns, stamp_ns));
  if (!(old_s < options_.timeout_s && new_s < options_.timeout_s)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the stamp ", stamp_ns, " ns is ", old_s, " s after the pose before it and ", new_s,
        " s away from the one after it; both must be less than ", options_.timeout_s, " s"));
  }
  const double distance_m = TranslationDistance(older->map_T_base, newer->map_T_base);
  if (!(distance_m < options_.distance_tolerance_m)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the poses around the stamp ", stamp_ns, " ns are ", distance_m,
                     " m apart; they must be nearer than ", options_.distance_tolerance_m, " m"));
  }
  InterpolatedPose pose = {{stamp_ns, older->map_T_base, older->covariance}, *older, *newer};
  if (newer != older) {
    const double share = old_s / SecondsBetween(older->stamp_ns, newer->stamp_ns);
    pose.map_T_base = Between(older->map_T_base, newer->map_T_base, share);
  }
  return pose;
}

void PoseBuffer::PopOld(int64_t stamp_ns) {
  while (!poses_.empty() && poses_.front().stamp_ns < stamp_ns) poses_.pop_front();
}

absl::Status ValidateAccumulationOptions(const AccumulationOptions& options) {
  constexpr double kMaxDistanceM = 1000.0;
  return CheckRanges({{"scans", options.max_scans, FromTo(1, kMaxAccumulatedScans)},
                      {"max_age_s", options.max_age_s, Over(0.0)},
                      {"max_distance_m", options.max_distance_m, Over(0.0).AtMost(kMaxDistanceM)}});
}

std::vector<PlacedCloud> ScanHistory::Add(int64_t stamp_ns, const Pose& odom_T_base,
                                          std::shared_ptr<const PointCloud> scan_base) {
  if (!scans_.empty() && stamp_ns < scans_.back().stamp_ns) Clear();
  const auto is_usable = [&](const Scan& scan) {
    return SecondsBetween(scan.stamp_ns, stamp_ns) <= options_.max_age_s &&
           TranslationDistance(scan.odom_T_base, odom_T_base) <= options_.max_distance_m;
  };
  // If a scan is dropped, all older ones are too: the odometry may have jumped between them.
  const auto last_out = std::find_if_not(scans_.rbegin(), scans_.rend(), is_usable);
  for (auto out = std::distance(last_out, scans_.rend()); out > 0; --out) DropOldest();
  while (scans_.size() + 1 > options_.max_scans) DropOldest();
  while (!scans_.empty() && points_ + scan_base->size() > options_.max_points) DropOldest();

  std::vector<PlacedCloud> earlier;
  earlier.reserve(scans_.size());
  const Pose base_T_odom = odom_T_base.Inverse();
  for (auto scan = scans_.rbegin(); scan != scans_.rend(); ++scan) {
    earlier.push_back({base_T_odom * scan->odom_T_base, scan->base});
  }
  if (scan_base->size() <= options_.max_points) {
    points_ += scan_base->size();
    scans_.push_back({stamp_ns, odom_T_base, std::move(scan_base)});
  }
  return earlier;
}

void ScanHistory::Clear() {
  scans_.clear();
  points_ = 0;
}

void ScanHistory::DropOldest() {
  points_ -= scans_.front().base->size();
  scans_.pop_front();
}

}  // namespace voxloc
