// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/pose_history.h"

#include <algorithm>

namespace voxloc::ros {

void PoseHistory::Push(const Sample& sample) {
  if (!poses_.empty() && sample.stamp_ns < poses_.back().stamp_ns) poses_.clear();
  if (poses_.size() == kMaxPoses) poses_.pop_front();
  poses_.push_back(sample);
}

std::vector<PoseHistory::Sample> PoseHistory::TakeFor(int64_t stamp_ns) {
  const auto after =
      std::upper_bound(poses_.begin(), poses_.end(), stamp_ns,
                       [](int64_t stamp, const Sample& sample) { return stamp < sample.stamp_ns; });
  if (after - poses_.begin() > 2) poses_.erase(poses_.begin(), after - 2);
  return {poses_.begin(), poses_.end()};
}

std::optional<PoseHistory::Sample> PoseHistory::Find(int64_t stamp_ns) const {
  for (const Sample& sample : poses_) {
    if (sample.stamp_ns == stamp_ns) return sample;
  }
  return std::nullopt;
}

}  // namespace voxloc::ros
