// SPDX-License-Identifier: Apache-2.0
//
// ScanHistory: the latest scans of a vehicle, prepared in the base frame, with the odometry at
// each, for clouds that are made of several scans. Scans that are too old, too far away or too many
// are dropped, so that memory is bounded and no scan from before a jump of the odometry is used.
// Points are shared, never copied. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_SCAN_HISTORY_H_
#define VOXLOC_CORE_TRACKING_SCAN_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/cloud/motion.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

// As many scans of a LiDAR of 10 Hz as the default age holds.
constexpr size_t kMaxAccumulatedScans = 100;

struct AccumulationOptions {
  size_t max_scans = 1;  // that are joined, the newest included; 1 to kMaxAccumulatedScans
  // A gyroscope that drifts by 0.01 degrees a second turns the oldest scan by a tenth of a degree.
  double max_age_s = 10.0;  // finite, > 0
  // Odometry that drifts by 1 % of the way, as of wheels, places the farthest scan to a decimetre.
  double max_distance_m = 10.0;  // between the bases; over 0, at most 1000
  // Of all scans that are joined; the points of a turn of a LiDAR of 128 beams.
  size_t max_points = 262'144;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateAccumulationOptions(const AccumulationOptions& options);

class ScanHistory {
 public:
  explicit ScanHistory(const AccumulationOptions& options) : options_(options) {}

  // The earlier scans that are to be joined with this one, the newest first, each with where its
  // base lies in the base of this one. Keeps the scan for those that follow, unless it has more
  // than max_points by itself. A stamp before the last one's, as in a replayed log, empties the
  // history first.
  [[nodiscard]] std::vector<PlacedCloud> Add(int64_t stamp_ns, const Pose& odom_T_base,
                                             std::shared_ptr<const PointCloud> scan_base);
  void Clear();

  // Of the scans that are kept.
  [[nodiscard]] size_t points() const { return points_; }

 private:
  struct Scan {
    int64_t stamp_ns = 0;
    Pose odom_T_base;
    std::shared_ptr<const PointCloud> base;
  };

  void DropOldest();

  AccumulationOptions options_;
  std::deque<Scan> scans_;  // stamps never fall
  size_t points_ = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_SCAN_HISTORY_H_
