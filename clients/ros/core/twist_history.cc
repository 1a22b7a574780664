// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/twist_history.h"

#include <algorithm>
#include <iterator>

namespace voxloc::ros {

void TwistHistory::Push(int64_t stamp_ns, const Twist& base_twist) {
  if (!twists_.empty() && stamp_ns < twists_.back().stamp_ns) twists_.clear();
  if (twists_.size() == kMaxTwists) twists_.pop_front();
  twists_.push_back({stamp_ns, base_twist});
}

std::optional<Twist> TwistHistory::At(int64_t stamp_ns) const {
  const auto after =
      std::upper_bound(twists_.begin(), twists_.end(), stamp_ns,
                       [](int64_t stamp, const Sample& sample) { return stamp < sample.stamp_ns; });
  const auto is_near = [stamp_ns](const Sample& sample) {
    const int64_t distance_ns = sample.stamp_ns - stamp_ns;
    return distance_ns <= kMaxDistanceNs && -distance_ns <= kMaxDistanceNs;
  };
  const bool has_older = after != twists_.begin() && is_near(*std::prev(after));
  const bool has_newer = after != twists_.end() && is_near(*after);
  if (!has_older && !has_newer) return std::nullopt;
  if (!has_older) return after->base_twist;
  const Sample& older = *std::prev(after);
  if (!has_newer) return older.base_twist;
  const double share = static_cast<double>(stamp_ns - older.stamp_ns) /
                       static_cast<double>(after->stamp_ns - older.stamp_ns);
  Twist twist;
  twist.linear_m_s = older.base_twist.linear_m_s +
                     share * (after->base_twist.linear_m_s - older.base_twist.linear_m_s);
  twist.angular_rad_s = older.base_twist.angular_rad_s +
                        share * (after->base_twist.angular_rad_s - older.base_twist.angular_rad_s);
  return twist;
}

}  // namespace voxloc::ros
