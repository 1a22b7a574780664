// SPDX-License-Identifier: Apache-2.0
//
// GroundGrid: heights above the ground, which is taken to be the lowest of some points nearby: of
// the same column of 4 m x 4 m and of the eight around it. Immutable and thread-safe.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_GRID_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_GRID_H_

#include <Eigen/Core>
#include <cstddef>
#include <vector>

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_GROUND_GRID_H_
