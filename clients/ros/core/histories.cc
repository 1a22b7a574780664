// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/histories.h"

#include <cmath>
#include <iterator>

#include "core/geometry/stamp.h"

namespace voxloc::ros {
namespace {

// Autoware's value_as_unlimited, in seconds and in metres.
constexpr double kUnlimited = 1000.0;
// A twist that is farther from a scan in time says nothing of it.
constexpr int64_t kMaxTwistGapNs = 200'000'000;

}  // namespace

std::vector<PoseSample> PoseHistory::TakeFor(int64_t stamp_ns) {
  DropBefore(FirstAfter(stamp_ns));
  return {samples_.begin(), samples_.end()};
}

std::optional<Eigen::Vector3d> ReferenceHistory::TakeAt(int64_t stamp_ns) {
  if (samples_.size() < 2 || stamp_ns < samples_.front().stamp_ns) return std::nullopt;
  const Iterator after = FirstAfter(stamp_ns);
  const ReferenceSample older = *(after - 1);
  const ReferenceSample newer = after == samples_.end() ? older : *after;
  if (std::abs(SecondsBetween(older.stamp_ns, stamp_ns)) >= kUnlimited ||
      std::abs(SecondsBetween(newer.stamp_ns, stamp_ns)) >= kUnlimited ||
      (newer.position_map - older.position_map).norm() >= kUnlimited) {
    return std::nullopt;
  }
  DropBefore(after);
  const double span_s = SecondsBetween(older.stamp_ns, newer.stamp_ns);
  if (span_s <= 0.0) return older.position_map;
  const double share = SecondsBetween(older.stamp_ns, stamp_ns) / span_s;
  return older.position_map + share * (newer.position_map - older.position_map);
}

std::optional<Twist> TwistHistory::At(int64_t stamp_ns) const {
  const Iterator after = FirstAfter(stamp_ns);
  const auto is_near = [stamp_ns](const TwistSample& sample) {
    const int64_t distance_ns = sample.stamp_ns - stamp_ns;
    return distance_ns <= kMaxTwistGapNs && -distance_ns <= kMaxTwistGapNs;
  };
  const bool has_older = after != samples_.begin() && is_near(*std::prev(after));
  const bool has_newer = after != samples_.end() && is_near(*after);
  if (!has_older && !has_newer) return std::nullopt;
  if (!has_older) return after->base_twist;
  const TwistSample& older = *std::prev(after);
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

std::optional<OdometryGuess::Guess> OdometryGuess::At(
    const std::optional<Pose>& odom_T_base) const {
  if (!guess_.has_value() || !odom_T_base.has_value() || !odom_T_base_.has_value()) return guess_;
  Guess moved = *guess_;
  moved.map_T_base = guess_->map_T_base * odom_T_base_->Inverse() * *odom_T_base;
  return moved;
}

}  // namespace voxloc::ros
