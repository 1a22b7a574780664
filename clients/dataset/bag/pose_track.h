// SPDX-License-Identifier: Apache-2.0
//
// Poses of a drive by their stamps.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_POSE_TRACK_H_
#define VOXLOC_CLIENTS_DATASET_BAG_POSE_TRACK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "clients/dataset/trajectory_file.h"
#include "core/geometry/pose.h"

namespace voxloc::bag {

// The largest gap between two poses that is interpolated over: receivers of GNSS, the slowest
// sources of poses, report once a second or more often.
constexpr int64_t kLargestPoseGap_ns = 1'000'000'000;

// A drive of 27 hours at 100 Hz, 640 MB.
constexpr size_t kMostPoses = 10'000'000;

class PoseTrack {
 public:
  // In any order. ResourceExhausted: there are kMostPoses.
  [[nodiscard]] absl::Status Add(int64_t stamp_ns, const Pose& pose);

  // After the last pose, once. Of poses with the same stamp the last one stays.
  void Finish();

  [[nodiscard]] bool empty() const { return poses_.empty(); }
  [[nodiscard]] const std::vector<StampedPose>& poses() const { return poses_; }

  // The pose of that stamp itself; or, between two poses that are at most kLargestPoseGap_ns apart,
  // the straight line and the shortest rotation. nullopt: neither.
  [[nodiscard]] std::optional<Pose> At(int64_t stamp_ns) const;

 private:
  std::vector<StampedPose> poses_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_POSE_TRACK_H_
