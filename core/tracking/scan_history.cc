// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/scan_history.h"

#include <algorithm>
#include <utility>

#include "core/text/number_range.h"
#include "core/tracking/pose_buffer.h"

namespace voxloc {

absl::Status ValidateAccumulationOptions(const AccumulationOptions& options) {
  constexpr double kMaxDistanceM = 1000.0;
  return CheckRanges({{"scans", options.max_scans, FromTo(1, kMaxAccumulatedScans)},
                      {"max_age_s", options.max_age_s, Over(0.0)},
                      {"max_distance_m", options.max_distance_m, Over(0.0).AtMost(kMaxDistanceM)}});
}

std::vector<PlacedCloud> ScanHistory::Add(int64_t stamp_ns, const Pose& odom_T_base,
                                          std::shared_ptr<const PointCloud> scan_base) {
  if (!scans_.empty() && stamp_ns < scans_.back().stamp_ns) Clear();
  const auto is_usable = [&](const Scan& scan) {
    return SecondsBetween(scan.stamp_ns, stamp_ns) <= options_.max_age_s &&
           TranslationDistance(scan.odom_T_base, odom_T_base) <= options_.max_distance_m;
  };
  // If a scan is dropped, all older ones are too: the odometry may have jumped between them.
  const auto last_out = std::find_if_not(scans_.rbegin(), scans_.rend(), is_usable);
  for (auto out = std::distance(last_out, scans_.rend()); out > 0; --out) DropOldest();
  while (scans_.size() + 1 > options_.max_scans) DropOldest();
  while (!scans_.empty() && points_ + scan_base->size() > options_.max_points) DropOldest();

  std::vector<PlacedCloud> earlier;
  earlier.reserve(scans_.size());
  const Pose base_T_odom = odom_T_base.Inverse();
  for (auto scan = scans_.rbegin(); scan != scans_.rend(); ++scan) {
    earlier.push_back({base_T_odom * scan->odom_T_base, scan->base});
  }
  if (scan_base->size() <= options_.max_points) {
    points_ += scan_base->size();
    scans_.push_back({stamp_ns, odom_T_base, std::move(scan_base)});
  }
  return earlier;
}

void ScanHistory::Clear() {
  scans_.clear();
  points_ = 0;
}

void ScanHistory::DropOldest() {
  points_ -= scans_.front().base->size();
  scans_.pop_front();
}

}  // namespace voxloc
