// SPDX-License-Identifier: Apache-2.0

#include "core/engine/scan_reach.h"

#include <algorithm>
#include <cmath>

namespace voxloc {

double MaxPointDistance(const PointCloud& scan_base) {
  double farthest = 0.0;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    farthest = std::max(farthest, scan_base.Point(i).squaredNorm());
  }
  return std::sqrt(farthest);
}

bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m, double margin_m) {
  if (map.finite_points == 0) return false;
  const Eigen::Array3d position = map_T_base.translation.array();
  const double slack = reach_m + margin_m;
  return (position >= map.min.array() - slack).all() && (position <= map.max.array() + slack).all();
}

double MatchMargin(const Profile& profile) {
  double largest = 0.0;
  for (const Stage& stage : profile.stages) largest = std::max(largest, stage.cells.cell_size_m);
  return 2.0 * largest;
}

}  // namespace voxloc
