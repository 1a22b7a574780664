// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_TESTS_CLIENTS_DATASET_SPLIT_INTO_TILES_H_
#define VOXLOC_TESTS_CLIENTS_DATASET_SPLIT_INTO_TILES_H_

#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/tile_spill.h"

namespace voxloc {

// The tiles of a TileGrid that have points, ordered by x, then y. Points keep their order; points
// that are not finite belong to none. InvalidArgument when the size is not allowed or a point is
// too far from zero. TileSpill does the same for clouds that memory does not hold.
[[nodiscard]] inline absl::StatusOr<std::vector<TileCloud>> SplitIntoTiles(const PointCloud& cloud,
                                                                           double tile_size_m) {
  const absl::StatusOr<TileGrid> grid = TileGrid::Create(tile_size_m);
  if (!grid.ok()) return grid.status();
  std::map<TileIndex, std::vector<size_t>> points_of;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    TileIndex index;
    if (!grid->IndexOf(cloud.Point(i), &index)) return TileRangeError(i, cloud.Point(i));
    points_of[index].push_back(i);
  }

  std::vector<TileCloud> tiles;
  tiles.reserve(points_of.size());
  for (const auto& [index, points] : points_of) {
    TileCloud tile = grid->EmptyTile(index, cloud.origin.z());
    tile.cloud.Reserve(points.size());
    const Eigen::Vector3d shift = cloud.origin - tile.cloud.origin;
    for (const size_t i : points) {
      const Eigen::Vector3f offset = (shift + cloud.Offset(i).cast<double>()).cast<float>();
      tile.cloud.PushBack(offset.x(), offset.y(), offset.z());
      if (cloud.has_intensity()) tile.cloud.intensity.push_back(cloud.intensity[i]);
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CLIENTS_DATASET_SPLIT_INTO_TILES_H_
