// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/pose_track.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace voxloc::bag {

absl::Status PoseTrack::Add(int64_t stamp_ns, const Pose& pose) {
  if (poses_.size() >= kMostPoses) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a drive must have at most ", kMostPoses, " poses"));
  }
  poses_.push_back({stamp_ns, pose});
  return absl::OkStatus();
}

void PoseTrack::Finish() {
  absl::c_stable_sort(
      poses_, [](const StampedPose& a, const StampedPose& b) { return a.stamp_ns < b.stamp_ns; });
  // From the end, so that the last of equal stamps is the first that is met.
  const auto first = std::unique(
      poses_.rbegin(), poses_.rend(),
      [](const StampedPose& a, const StampedPose& b) { return a.stamp_ns == b.stamp_ns; });
  poses_.erase(poses_.begin(), first.base());
}

std::optional<Pose> PoseTrack::At(int64_t stamp_ns) const {
  const auto after = absl::c_lower_bound(
      poses_, stamp_ns,
      [](const StampedPose& pose, int64_t stamp) { return pose.stamp_ns < stamp; });
  if (after == poses_.end()) return std::nullopt;
  if (after->stamp_ns == stamp_ns) return after->pose;
  if (after == poses_.begin()) return std::nullopt;
  const auto before = after - 1;
  // Stamps are any numbers; the differences of unsigned ones do not overflow.
  const uint64_t gap_ns =
      static_cast<uint64_t>(after->stamp_ns) - static_cast<uint64_t>(before->stamp_ns);
  if (gap_ns > static_cast<uint64_t>(kLargestPoseGap_ns)) return std::nullopt;
  const double share =
      static_cast<double>(stamp_ns - before->stamp_ns) / static_cast<double>(gap_ns);
  Pose pose;
  pose.translation =
      before->pose.translation + share * (after->pose.translation - before->pose.translation);
  pose.rotation = before->pose.rotation.slerp(share, after->pose.rotation).normalized();
  return pose;
}

}  // namespace voxloc::bag
