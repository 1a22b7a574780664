// SPDX-License-Identifier: Apache-2.0
//
// Recent inputs that later scans need: poses, reference positions and twists by stamp, and the pose
// that a user or a search gave. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_HISTORIES_H_
#define VOXLOC_CLIENTS_ROS_CORE_HISTORIES_H_

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "clients/ros/core/messages.h"

namespace voxloc::ros {

// Samples with non-decreasing stamps. Beyond `kMax` samples the oldest is dropped.
template <typename Sample, size_t kMax>
class StampedHistory {
 public:
  // A stamp before the last one's, as in a replayed log, empties the history first.
  void Push(const Sample& sample) {
    if (!samples_.empty() && sample.stamp_ns < samples_.back().stamp_ns) samples_.clear();
    if (samples_.size() == kMax) samples_.pop_front();
    samples_.push_back(sample);
  }
  void Clear() { samples_.clear(); }
  [[nodiscard]] size_t size() const { return samples_.size(); }

 protected:
  using Iterator = typename std::deque<Sample>::const_iterator;

  [[nodiscard]] Iterator FirstAfter(int64_t stamp_ns) const {
    return std::upper_bound(
        samples_.begin(), samples_.end(), stamp_ns,
        [](int64_t stamp, const Sample& sample) { return stamp < sample.stamp_ns; });
  }
  // All but the last two before this one.
  void DropBefore(Iterator after) {
    if (after - samples_.begin() > 2) samples_.erase(samples_.begin(), after - 2);
  }

  std::deque<Sample> samples_;
};

struct PoseSample {
  int64_t stamp_ns = 0;
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();
};

// 10 s of poses at 50 Hz; the server's Limits.max_buffered_poses is as many by default.
inline constexpr size_t kMaxPoses = 500;

// The poses of the filter (Autoware's EKF) since the node was activated. Each scan carries the
// poses around its stamp, and the server interpolates them by the rules of Autoware's
// SmartPoseBuffer. So a scan that is dropped or sent again to another server loses no pose.
//
// The last two poses at or before a scan are kept for the next one. In Autoware a scan that is
// newer than all poses empties the buffer, and the next scan fails.
class PoseHistory : public StampedHistory<PoseSample, kMaxPoses> {
 public:
  // The poses for a scan of this stamp: from the second last at or before it to the newest. Older
  // ones are dropped.
  [[nodiscard]] std::vector<PoseSample> TakeFor(int64_t stamp_ns);
};

struct ReferenceSample {
  int64_t stamp_ns = 0;
  Eigen::Vector3d position_map;
};

// The poses of GNSS for the regularisation, 50 s at 10 Hz. Each scan brings the position
// interpolated at its stamp, with the rules of Autoware's SmartPoseBuffer and its limits for these
// poses, 1000 s and 1000 m, which have no effect in practice.
class ReferenceHistory : public StampedHistory<ReferenceSample, 500> {
 public:
  // Linear between the last position not after the stamp and the next one; at or after the last one
  // it is that one. nullopt: fewer than two, a stamp before the first one's, or too far away in
  // time or apart. What is older than both is then forgotten.
  [[nodiscard]] std::optional<Eigen::Vector3d> TakeAt(int64_t stamp_ns);
};

struct TwistSample {
  int64_t stamp_ns = 0;
  Twist base_twist;
};

// Recent velocities of the base from a topic of twists (2 s at 100 Hz), for scans with point times.
class TwistHistory : public StampedHistory<TwistSample, 200> {
 public:
  // Linear between the twists around the stamp; the nearest one outside of them. nullopt: none is
  // within 0.2 s, the period of a LiDAR of 5 Hz.
  [[nodiscard]] std::optional<Twist> At(int64_t stamp_ns) const;
};

// The guess until the first accepted result: a given pose (by a user or a search of the whole map)
// propagated by odometry. After that the server propagates the last accepted result by odom_T_base.
class OdometryGuess {
 public:
  struct Guess {
    Pose map_T_base;
    Matrix6 covariance = Matrix6::Zero();
  };

  // `odom_T_base` at the time of the pose; nullopt: not known, the pose is then taken as it is.
  void Set(const Guess& guess, const std::optional<Pose>& odom_T_base) {
    guess_ = guess;
    odom_T_base_ = odom_T_base;
  }
  void Clear() { guess_.reset(); }

  // For a scan with this odometry. nullopt: none was set, or it was cleared.
  [[nodiscard]] std::optional<Guess> At(const std::optional<Pose>& odom_T_base) const;

 private:
  std::optional<Guess> guess_;
  std::optional<Pose> odom_T_base_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_HISTORIES_H_
