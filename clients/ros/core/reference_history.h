// SPDX-License-Identifier: Apache-2.0
//
// ReferenceHistory: the poses of GNSS for the regularisation. Each scan brings the position
// interpolated at its stamp, with the rules of Autoware's SmartPoseBuffer and its limits for these
// poses, 1000 s and 1000 m: as good as none. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_REFERENCE_HISTORY_H_
#define VOXLOC_CLIENTS_ROS_CORE_REFERENCE_HISTORY_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace voxloc::ros {

class ReferenceHistory {
 public:
  // The oldest goes when there are more. 50 s of positions at 10 Hz.
  static constexpr size_t kMaxPositions = 500;

  // A stamp before the last one's empties the history first.
  void Push(int64_t stamp_ns, const Eigen::Vector3d& position_map);

  // Linear between the last position not after the stamp and the next one; at or after the last one
  // it is that one. nullopt: fewer than two, a stamp before the first one's, or too far away in
  // time or apart. What is older than both is then forgotten.
  [[nodiscard]] std::optional<Eigen::Vector3d> TakeAt(int64_t stamp_ns);

 private:
  struct Sample {
    int64_t stamp_ns = 0;
    Eigen::Vector3d position_map;
  };
  std::deque<Sample> positions_;  // stamps never fall
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_REFERENCE_HISTORY_H_
