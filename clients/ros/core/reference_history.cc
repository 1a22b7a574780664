// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/reference_history.h"

#include <algorithm>
#include <cmath>

namespace voxloc::ros {
namespace {

// Autoware's value_as_unlimited, in seconds and in metres.
constexpr double kUnlimited = 1000.0;

double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  return (static_cast<double>(to_ns) - static_cast<double>(from_ns)) * 1e-9;
}

}  // namespace

void ReferenceHistory::Push(int64_t stamp_ns, const Eigen::Vector3d& position_map) {
  if (!positions_.empty() && stamp_ns < positions_.back().stamp_ns) positions_.clear();
  if (positions_.size() == kMaxPositions) positions_.pop_front();
  positions_.push_back({stamp_ns, position_map});
}

std::optional<Eigen::Vector3d> ReferenceHistory::TakeAt(int64_t stamp_ns) {
  if (positions_.size() < 2 || stamp_ns < positions_.front().stamp_ns) return std::nullopt;
  const auto after =
      std::upper_bound(positions_.begin(), positions_.end(), stamp_ns,
                       [](int64_t stamp, const Sample& sample) { return stamp < sample.stamp_ns; });
  const Sample older = *(after - 1);
  const Sample newer = after == positions_.end() ? older : *after;
  if (std::abs(SecondsBetween(older.stamp_ns, stamp_ns)) >= kUnlimited ||
      std::abs(SecondsBetween(newer.stamp_ns, stamp_ns)) >= kUnlimited ||
      (newer.position_map - older.position_map).norm() >= kUnlimited) {
    return std::nullopt;
  }
  if (after - positions_.begin() > 2) positions_.erase(positions_.begin(), after - 2);
  const double span_s = SecondsBetween(older.stamp_ns, newer.stamp_ns);
  if (span_s <= 0.0) return older.position_map;
  const double share = SecondsBetween(older.stamp_ns, stamp_ns) / span_s;
  return older.position_map + share * (newer.position_map - older.position_map);
}

}  // namespace voxloc::ros
