// SPDX-License-Identifier: Apache-2.0
//
// The ground under points, by square columns with corners at multiples of their edge in the points'
// frame, z up: LowestNearby, the lowest points of columns, and the points of a cloud in a range of
// heights above the ground.

#ifndef VOXLOC_CORE_CLOUD_GROUND_H_
#define VOXLOC_CORE_CLOUD_GROUND_H_

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/container/flat_table.h"

namespace voxloc {

// The lowest of points nearby: those in the same column and in the eight around it. Memory grows
// with the columns that have points. Any number of threads may read one.
class LowestNearby {
 public:
  explicit LowestNearby(double edge_m) : columns_per_m_(1.0 / edge_m) {}

  // A finite point, less than 2^31 columns from zero.
  void Add(const Eigen::Vector3d& point) {
    const Column column = ColumnOf(point);
    if (double* const known_m = lowest_m_.Find(column)) {
      *known_m = std::min(*known_m, point.z());
    } else {
      lowest_m_.Insert(column, point.z());
    }
  }

  // Its z, or that of `point`, if it is lower.
  [[nodiscard]] double At(const Eigen::Vector3d& point) const {
    const Column column = ColumnOf(point);
    double lowest_m = point.z();
    for (int32_t y = column.y - 1; y <= column.y + 1; ++y) {
      for (int32_t x = column.x - 1; x <= column.x + 1; ++x) {
        const double* const known_m = lowest_m_.Find({x, y});
        if (known_m != nullptr) lowest_m = std::min(lowest_m, *known_m);
      }
    }
    return lowest_m;
  }

 private:
  struct Column {
    int32_t x = 0;
    int32_t y = 0;

    friend bool operator==(const Column& a, const Column& b) { return a.x == b.x && a.y == b.y; }
    template <typename H>
    friend H AbslHashValue(H h, const Column& column) {
      return H::combine(std::move(h), column.x, column.y);
    }
  };

  [[nodiscard]] Column ColumnOf(const Eigen::Vector3d& point) const {
    return {static_cast<int32_t>(std::floor(point.x() * columns_per_m_)),
            static_cast<int32_t>(std::floor(point.y() * columns_per_m_))};
  }

  double columns_per_m_;
  FlatTable<Column, double> lowest_m_;
};

// Heights above the ground, metres; min <= height <= max.
struct GroundRange {
  double min_m = 0.0;
  double max_m = 0.0;
};

// The points in the range, in their order; those that are not finite are dropped. The ground under
// a point is the lowest of the points nearby in columns of 1 m, so within 1 to 2 m, where slopes
// matter little. Where that is over 2 m higher than the lowest nearby in columns of 4 m, as in the
// crown of a tree, it is the latter. Heights are at least 0. Deterministic; memory: about 100 bytes
// a square metre with points, and the result. InvalidArgument: a point over 1e9 m from zero.
//
// What has no ground within 4 m, such as the middle of a wide roof, counts as ground. Points below
// the ground, such as reflections, lower it within 2 m of them, and within 8 m where they are over
// 2 m below it.
[[nodiscard]] absl::StatusOr<PointCloud> CropAboveGround(const PointCloud& cloud,
                                                         const GroundRange& range);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_GROUND_H_
