// SPDX-License-Identifier: Apache-2.0
//
// PoseHistory: the poses of the filter (Autoware's EKF) since the node was activated, as far as
// later scans need them. Each scan takes along the poses around its stamp, so that the server,
// which interpolates (the rules and limits of Autoware's SmartPoseBuffer are there), needs nothing
// but the scan: a scan that is dropped, or sent again to another server, takes no pose with it.
//
// Two poses not after a scan are kept for the next one: in Autoware a scan that is newer than all
// poses empties the buffer, and the next scan fails. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_POSE_HISTORY_H_
#define VOXLOC_CLIENTS_ROS_CORE_POSE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "clients/ros/core/messages.h"

namespace voxloc::ros {

class PoseHistory {
 public:
  struct Sample {
    int64_t stamp_ns = 0;
    Pose map_T_base;
    Matrix6 covariance = Matrix6::Zero();
  };

  // The oldest goes when there are more. 10 s of poses at 50 Hz; the server's
  // Limits.max_buffered_poses is as many by default.
  static constexpr size_t kMaxPoses = 500;

  // A stamp before the last one's, as in a replayed log, empties the history first.
  void Push(const Sample& sample);
  void Clear() { poses_.clear(); }

  // The poses for a scan of this stamp: from the second last one not after it to the newest. What
  // is older is forgotten.
  [[nodiscard]] std::vector<Sample> TakeFor(int64_t stamp_ns);

  // The pose of exactly this stamp, if it is still there.
  [[nodiscard]] std::optional<Sample> Find(int64_t stamp_ns) const;
  [[nodiscard]] bool empty() const { return poses_.empty(); }
  [[nodiscard]] size_t size() const { return poses_.size(); }

 private:
  std::deque<Sample> poses_;  // stamps never fall
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_POSE_HISTORY_H_
