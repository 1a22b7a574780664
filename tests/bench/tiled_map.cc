// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/tiled_map.h"

#include <cstdint>
#include <utility>

#include "tests/bench/bench_options.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

constexpr double kTileM = 60.0;
constexpr uint64_t kVariants = 4;
// A prime that does not divide the number of tiles, so that the stride visits all of them.
constexpr size_t kStride = 137;

}  // namespace

TiledMap::TiledMap(Engine& engine, std::vector<CellStatistics> statistics, const Size& size)
    : engine_(engine),
      statistics_(std::move(statistics)),
      tiles_along_edge_(size.tiles_along_edge) {
  for (uint64_t seed = 0; seed < kVariants; ++seed) {
    clouds_.push_back(SyntheticCloud(size.tile_points, kTileM, 100 + seed));
  }
}

absl::StatusOr<std::unique_ptr<TiledMap>> TiledMap::Make(Engine& engine,
                                                         std::vector<CellStatistics> statistics,
                                                         const Size& size) {
  std::unique_ptr<TiledMap> tiled(new TiledMap(engine, std::move(statistics), size));
  for (size_t place = 0; place < size.tiles_along_edge * size.tiles_along_edge; ++place) {
    auto tile = engine.BuildTile(tiled->CloudFor(place, place), tiled->statistics_);
    if (!tile.ok()) return tile.status();
    tiled->tiles_.push_back(*std::move(tile));
  }
  auto map = engine.Compose(tiled->tiles_, tiled->statistics_, nullptr);
  if (!map.ok()) return map.status();
  tiled->map_ = *std::move(map);
  return tiled;
}

PointCloud& TiledMap::CloudFor(size_t place, size_t variant) {
  PointCloud& cloud = clouds_[variant % clouds_.size()];
  cloud.origin.x() = kTileM * static_cast<double>(place % tiles_along_edge_);
  cloud.origin.y() = kTileM * static_cast<double>(place / tiles_along_edge_);
  return cloud;
}

absl::StatusOr<TiledMap::Times> TiledMap::Replace(size_t round) {
  const size_t place = round * kStride % tiles_.size();
  const PointCloud& cloud = CloudFor(place, round);
  const auto replaced_tile = tiles_[place];
  const auto replaced_map = map_;
  absl::Status status;
  Times times;
  times.build_ms = TimeMs([&] {
    auto tile = engine_.BuildTile(cloud, statistics_);
    status = tile.status();
    if (tile.ok()) tiles_[place] = *std::move(tile);
  });
  if (!status.ok()) return status;
  times.compose_ms = TimeMs([&] {
    auto map = engine_.Compose(tiles_, statistics_, replaced_map.get());
    status = map.status();
    if (map.ok()) map_ = *std::move(map);
  });
  if (!status.ok()) return status;
  return times;
}

}  // namespace voxloc::bench
