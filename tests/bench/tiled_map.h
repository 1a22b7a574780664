// SPDX-License-Identifier: Apache-2.0
//
// TiledMap: a square map of tiles of 60 m, which are replaced one at a time. One thread at a time.

#ifndef VOXLOC_TESTS_BENCH_TILED_MAP_H_
#define VOXLOC_TESTS_BENCH_TILED_MAP_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"

namespace voxloc::bench {

class TiledMap {
 public:
  struct Size {
    size_t tiles_along_edge = 20;
    size_t tile_points = 100'000;  // as many as a street thinned to 0.2 m has
  };

  // The engine must outlive it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TiledMap>> Make(
      Engine& engine, std::vector<CellStatistics> statistics, const Size& size);

  // The times of a replacement. Freeing the old tile and map is not included, as in a server.
  struct Times {
    double build_ms = 0.0;    // the tile, from its points
    double compose_ms = 0.0;  // the map
  };
  // Replaces a tile, another one in each round until all have come, all over the map.
  [[nodiscard]] absl::StatusOr<Times> Replace(size_t round);

  [[nodiscard]] const ResidentMap& map() const { return *map_; }

 private:
  TiledMap(Engine& engine, std::vector<CellStatistics> statistics, const Size& size);

  // The points of a tile at this place.
  PointCloud& CloudFor(size_t place, size_t variant);

  Engine& engine_;
  const std::vector<CellStatistics> statistics_;
  const size_t tiles_along_edge_;
  std::vector<PointCloud> clouds_;  // that come in rotation
  std::vector<std::shared_ptr<const ResidentTile>> tiles_;
  std::shared_ptr<const ResidentMap> map_;
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_TILED_MAP_H_
