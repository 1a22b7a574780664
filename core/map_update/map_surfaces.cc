// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/map_surfaces.h"

#include <Eigen/LU>

#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr size_t kMaxSurfaces = size_t{1} << 22;  // 400 MB
// Of the points of passes, for the errors of their poses and ranges and for a map whose drift bends
// it by 3 cm within the range of a scan. 99 % of the points on a surface are within three times
// this and its own spread together.
constexpr double kToleranceSigmaM = 0.05;
constexpr double kMaxSquared = 9.0;

}  // namespace

absl::StatusOr<MapSurfaces> MapSurfaces::Create(const ResidentMap& map, size_t statistics_index,
                                                const Eigen::Vector3d& min_map,
                                                const Eigen::Vector3d& max_map) {
  MapSurfaces surfaces;
  surfaces.cell_size_m_ = map.statistics()[statistics_index].cell_size_m;
  const Eigen::Vector3d margin = Eigen::Vector3d::Constant(surfaces.cell_size_m_);
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<MapCell> cells,
      map.CellsInBox(statistics_index, min_map - margin, max_map + margin, kMaxSurfaces));
  surfaces.end_.resize(cells.size());
  for (size_t i = 0; i < cells.size();) {
    const size_t begin = i;
    for (; i < cells.size() && cells[i].key == cells[begin].key; ++i) {
      const Eigen::Matrix3d seen = ToMatrix(cells[i].covariance) + kToleranceSigmaM *
                                                                       kToleranceSigmaM *
                                                                       Eigen::Matrix3d::Identity();
      surfaces.surfaces_.push_back({cells[i].mean, seen.inverse()});
    }
    surfaces.first_.Insert(cells[begin].key, static_cast<uint32_t>(begin));
    surfaces.end_[begin] = static_cast<uint32_t>(i);
  }
  return surfaces;
}

bool MapSurfaces::Explain(const Eigen::Vector3d& point_map) const {
  const CellKey key = CellOf(point_map, cell_size_m_);
  for (int32_t z = key.z - 1; z <= key.z + 1; ++z) {
    for (int32_t y = key.y - 1; y <= key.y + 1; ++y) {
      for (int32_t x = key.x - 1; x <= key.x + 1; ++x) {
        const uint32_t* first = first_.Find({x, y, z});
        if (first == nullptr) continue;
        for (uint32_t i = *first; i < end_[*first]; ++i) {
          const Eigen::Vector3d beside = point_map - surfaces_[i].mean_map;
          if (beside.dot(surfaces_[i].information * beside) <= kMaxSquared) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace voxloc
