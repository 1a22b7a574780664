// SPDX-License-Identifier: Apache-2.0
//
// NewArea: what lies beside the tiles of a map, in square tiles of a grid anchored at the map's
// zero. Immutable; any number of threads may read.

#ifndef VOXLOC_CORE_MAP_UPDATE_NEW_AREA_H_
#define VOXLOC_CORE_MAP_UPDATE_NEW_AREA_H_

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// Column and row: x and y of its lowest corner are these times the edge.
using TileSquare = std::pair<int32_t, int32_t>;

class NewArea {
 public:
  // `tiles`: the bounds of the points of the map's tiles.
  NewArea(absl::Span<const Bounds> tiles, double tile_size_m);

  // Whether the point is over or under no tile of the map.
  [[nodiscard]] bool Has(const Eigen::Vector3d& point_map) const;
  [[nodiscard]] TileSquare SquareOf(const Eigen::Vector3d& point_map) const;
  [[nodiscard]] Eigen::Vector2d CornerOf(const TileSquare& square) const;
  [[nodiscard]] double tile_size_m() const { return tile_size_m_; }
  // In x and y; 0 within the square.
  [[nodiscard]] double DistanceTo(const TileSquare& square, const Eigen::Vector3d& point_map) const;

 private:
  double tile_size_m_;
  std::map<TileSquare, std::vector<Bounds>> tiles_;  // that touch each square
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_NEW_AREA_H_
