// SPDX-License-Identifier: Apache-2.0
//
// Cutting a map's cloud into square tiles, so that it can be loaded and replaced piece by piece.

#ifndef VOXLOC_CLIENTS_DATASET_MAP_TILING_H_
#define VOXLOC_CLIENTS_DATASET_MAP_TILING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/map_source.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct MapTile {
  // The lowest corner in metres, such as "x-20_y40".
  std::string id;
  // Its origin is the corner, at the height of the whole cloud's origin.
  PointCloud cloud;
  XyBounds bounds;
};

// The tiles of an xy grid anchored at the map's zero that have points, ordered by x, then y. A
// point belongs to the tile with min <= point < max; points keep their order; points that are not
// finite belong to none. InvalidArgument when the size is not from 1 m to 1e6 m, or a point lies
// more than 1e9 m from zero.
[[nodiscard]] absl::StatusOr<std::vector<MapTile>> SplitIntoTiles(const PointCloud& cloud,
                                                                  double tile_size_m);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_TILING_H_
