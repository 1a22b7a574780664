// SPDX-License-Identifier: Apache-2.0
//
// GroundGrid: heights above the ground, which is taken to be the lowest of some points nearby: of
// the same column of 4 m x 4 m and of the eight around it. Immutable and thread-safe.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"

namespace voxloc {

class GroundGrid {
 public:
  // Points are (x, y, height), level, m; those that are not finite count for nothing.
  explicit GroundGrid(const std::vector<Eigen::Vector3f>& points);

  // Of one of these points, m; at least 0.
  [[nodiscard]] float HeightOf(const Eigen::Vector3f& point) const {
    return point.z() - lowest_nearby_[ColumnOf(point)];
  }

 private:
  void ComputeLowestNearby(const std::vector<float>& lowest);
  [[nodiscard]] size_t ColumnOf(const Eigen::Vector3f& point) const;

  float columns_per_m_ = 0.0F;
  Eigen::Vector2f low_;
  size_t width_ = 0;
  std::vector<float> lowest_nearby_;
};

// Scores over the points that stand clear of the ground, as Autoware's ndt_scan_matcher has them.
struct NoGroundScores {
  PoseScore score;                                // over those points only
  std::shared_ptr<const PointCloud> points_base;  // those points; may be empty
};

// The points of the scan that lie more than `z_margin_m` above the position of `map_T_base`, in the
// map frame, scored there under the profile's score stage. Without such a point all scores are 0.
[[nodiscard]] absl::StatusOr<NoGroundScores> ScoreWithoutGround(Engine& engine, const AlignJob& job,
                                                                const Pose& map_T_base,
                                                                double z_margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_H_
