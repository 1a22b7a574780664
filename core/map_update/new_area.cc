// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/new_area.h"

#include <algorithm>
#include <cmath>

namespace voxloc {

NewArea::NewArea(absl::Span<const Bounds> tiles, double tile_size_m) : tile_size_m_(tile_size_m) {
  for (const Bounds& tile : tiles) {
    if (tile.finite_points == 0) continue;
    const TileSquare low = SquareOf(tile.min);
    const TileSquare high = SquareOf(tile.max);
    for (int32_t x = low.first; x <= high.first; ++x) {
      for (int32_t y = low.second; y <= high.second; ++y) tiles_[{x, y}].push_back(tile);
    }
  }
}

bool NewArea::Has(const Eigen::Vector3d& point_map) const {
  const auto found = tiles_.find(SquareOf(point_map));
  return found == tiles_.end() ||
         std::none_of(found->second.begin(), found->second.end(), [&](const Bounds& tile) {
           return (point_map.head<2>().array() >= tile.min.head<2>().array()).all() &&
                  (point_map.head<2>().array() <= tile.max.head<2>().array()).all();
         });
}

TileSquare NewArea::SquareOf(const Eigen::Vector3d& point_map) const {
  return {static_cast<int32_t>(std::floor(point_map.x() / tile_size_m_)),
          static_cast<int32_t>(std::floor(point_map.y() / tile_size_m_))};
}

Eigen::Vector2d NewArea::CornerOf(const TileSquare& square) const {
  return Eigen::Vector2d(square.first, square.second) * tile_size_m_;
}

double NewArea::DistanceTo(const TileSquare& square, const Eigen::Vector3d& point_map) const {
  const Eigen::Vector2d corner = CornerOf(square);
  const Eigen::Vector2d opposite = corner.array() + tile_size_m_;
  const Eigen::Vector2d point = point_map.head<2>();
  return (point - point.cwiseMax(corner).cwiseMin(opposite)).norm();
}

}  // namespace voxloc
