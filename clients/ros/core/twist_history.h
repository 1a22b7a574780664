// SPDX-License-Identifier: Apache-2.0
//
// TwistHistory: how fast the base moved lately, by a topic of twists, for scans whose points have
// times. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_TWIST_HISTORY_H_
#define VOXLOC_CLIENTS_ROS_CORE_TWIST_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/geometry/twist.h"

namespace voxloc::ros {

class TwistHistory {
 public:
  // The oldest goes when there are more. 2 s of twists at 100 Hz.
  static constexpr size_t kMaxTwists = 200;
  // A twist that is farther from a scan in time says nothing of it: the period of a LiDAR of 5 Hz.
  static constexpr int64_t kMaxDistanceNs = 200'000'000;

  // A stamp before the last one's empties the history first.
  void Push(int64_t stamp_ns, const Twist& base_twist);

  // Linear between the twists around the stamp; the nearest one outside of them. nullopt: none is
  // near enough.
  [[nodiscard]] std::optional<Twist> At(int64_t stamp_ns) const;

 private:
  struct Sample {
    int64_t stamp_ns = 0;
    Twist base_twist;
  };
  std::deque<Sample> twists_;  // stamps never fall
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_TWIST_HISTORY_H_
