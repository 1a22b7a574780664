// SPDX-License-Identifier: Apache-2.0
//
// Maps: built from points in memory, and a tile of one replaced.

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "tests/bench/gpu_row.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

constexpr int kTilesAlongEdge = 20;
constexpr size_t kTilePoints = 100'000;
constexpr double kTileM = 60.0;

std::vector<CellStatistics> TwoMetreCells() { return RequiredStatistics({AutowareProfile()}); }
std::vector<CellStatistics> AllCells() {
  return RequiredStatistics({AutowareProfile(), PreciseProfile()});
}

// 25 points a square metre, as a map thinned to 0.2 m has; two clouds in rotation.
Row BuildRow(const std::string& name, size_t points, const std::vector<CellStatistics>& cells) {
  Row row;
  row.name = name;
  row.item = "points";
  row.prepare = [points, cells](Engine& engine) -> absl::StatusOr<Call> {
    const double extent_m = std::sqrt(static_cast<double>(points) / 25.0);
    auto clouds = std::make_shared<std::vector<std::vector<PointCloud>>>();
    for (uint64_t seed = 0; seed < 2; ++seed) {
      clouds->push_back({SyntheticCloud(points, extent_m, seed)});
    }
    return Call([clouds, cells, &engine](size_t round) -> absl::StatusOr<CallResult> {
      const auto map = BuildMap(engine, (*clouds)[round % clouds->size()], cells);
      if (!map.ok()) return map.status();
      CallResult call;
      call.ms = map->build_ms;
      call.items = static_cast<double>(map->points);
      return call;
    });
  };
  return row;
}

// A map of tiles, one of which is built anew and composed in each call.
struct TiledMap {
  std::vector<PointCloud> clouds;  // that come in rotation
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  std::shared_ptr<const ResidentMap> map;
};

absl::StatusOr<CallResult> ReplaceTile(Engine& engine, TiledMap& tiled,
                                       const std::vector<CellStatistics>& cells, size_t round) {
  // Tiles all over the map.
  const size_t place = round * 137 % tiled.tiles.size();
  PointCloud& cloud = tiled.clouds[round % tiled.clouds.size()];
  cloud.origin.x() = kTileM * static_cast<double>(place % kTilesAlongEdge);
  cloud.origin.y() = kTileM * static_cast<double>(place / kTilesAlongEdge);
  // What is replaced is freed after the clock has stopped, as a server frees it off the hot path.
  const auto replaced_tile = tiled.tiles[place];
  const auto replaced_map = tiled.map;
  absl::Status status;
  CallResult call;
  call.items = 1.0;
  call.ms = TimeMs([&] {
    auto tile = engine.BuildTile(cloud, cells);
    status = tile.status();
    if (!tile.ok()) return;
    tiled.tiles[place] = *std::move(tile);
    auto map = engine.Compose(tiled.tiles, cells, tiled.map.get());
    status = map.status();
    if (map.ok()) tiled.map = *std::move(map);
  });
  if (!status.ok()) return status;
  return call;
}

Row ReplaceRow(const std::string& name, const std::vector<CellStatistics>& cells) {
  Row row;
  row.name = name;
  row.item = "tiles";
  row.prepare = [cells](Engine& engine) -> absl::StatusOr<Call> {
    auto tiled = std::make_shared<TiledMap>();
    for (uint64_t seed = 0; seed < 4; ++seed) {
      tiled->clouds.push_back(SyntheticCloud(kTilePoints, kTileM, 100 + seed));
    }
    for (int i = 0; i < kTilesAlongEdge * kTilesAlongEdge; ++i) {
      PointCloud& cloud = tiled->clouds[static_cast<size_t>(i) % tiled->clouds.size()];
      cloud.origin.x() = kTileM * (i % kTilesAlongEdge);
      cloud.origin.y() = kTileM * (i / kTilesAlongEdge);
      auto tile = engine.BuildTile(cloud, cells);
      if (!tile.ok()) return tile.status();
      tiled->tiles.push_back(*std::move(tile));
    }
    auto map = engine.Compose(tiled->tiles, cells, nullptr);
    if (!map.ok()) return map.status();
    tiled->map = *std::move(map);
    return Call([tiled, cells, &engine](size_t round) {
      return ReplaceTile(engine, *tiled, cells, round);
    });
  };
  return row;
}

}  // namespace

std::vector<Row> BuildRows() {
  return {
      BuildRow("build 100k points, 2 m cells", 100'000, TwoMetreCells()),
      BuildRow("build 1M points, 2 m cells", 1'000'000, TwoMetreCells()),
      BuildRow("build 10M points, 2 m cells", 10'000'000, TwoMetreCells()),
      BuildRow("build 100k points, both profiles", 100'000, AllCells()),
      BuildRow("build 1M points, both profiles", 1'000'000, AllCells()),
      BuildRow("build 10M points, both profiles", 10'000'000, AllCells()),
      ReplaceRow("replace 1 of 400 tiles of 100k, 2 m cells", TwoMetreCells()),
      ReplaceRow("replace 1 of 400 tiles of 100k, both", AllCells()),
  };
}

}  // namespace voxloc::bench
