// SPDX-License-Identifier: Apache-2.0
//
// The square tiles that a map is cut into, so that it can be loaded and replaced piece by piece.

#ifndef VOXLOC_CLIENTS_DATASET_MAP_TILING_H_
#define VOXLOC_CLIENTS_DATASET_MAP_TILING_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/map_source.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// Column and row of a tile: it spans [index * size, (index + 1) * size).
using TileIndex = std::pair<int64_t, int64_t>;

struct TileCloud {
  // The lowest corner in metres, such as "x-20_y40".
  std::string id;
  // Its origin is the corner, at the height of the whole cloud's origin.
  PointCloud cloud;
  XyBounds bounds;
};

// The xy grid of square tiles anchored at the map's zero. A point belongs to the tile with
// min <= point < max.
class TileGrid {
 public:
  // InvalidArgument when the size is not from 1 m to 1e6 m.
  [[nodiscard]] static absl::StatusOr<TileGrid> Create(double tile_size_m);

  // False: the point is further than 1e9 m from zero in x or y.
  [[nodiscard]] bool IndexOf(const Eigen::Vector3d& point, TileIndex* index) const;

  // The tile's lowest corner, at the given height.
  [[nodiscard]] Eigen::Vector3d OriginOf(const TileIndex& index, double origin_z_m) const;

  // Without points, around that origin.
  [[nodiscard]] TileCloud EmptyTile(const TileIndex& index, double origin_z_m) const;

 private:
  explicit TileGrid(double tile_size_m) : tile_size_m_(tile_size_m) {}

  double tile_size_m_;
};

// What is wrong with a point of which TileGrid::IndexOf has returned false.
[[nodiscard]] absl::Status TooFarForTiles(uint64_t point_number, const Eigen::Vector3d& point);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_TILING_H_
