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
#include "tests/bench/tiled_map.h"

namespace voxloc::bench {
namespace {

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

Row ReplaceRow(const std::string& name, const std::vector<CellStatistics>& cells) {
  Row row;
  row.name = name;
  row.item = "tiles";
  row.prepare = [cells](Engine& engine) -> absl::StatusOr<Call> {
    absl::StatusOr<std::unique_ptr<TiledMap>> made = TiledMap::Make(engine, cells, {});
    if (!made.ok()) return made.status();
    const std::shared_ptr<TiledMap> tiled = *std::move(made);
    return Call([tiled](size_t round) -> absl::StatusOr<CallResult> {
      const absl::StatusOr<TiledMap::Times> times = tiled->Replace(round);
      if (!times.ok()) return times.status();
      CallResult call;
      call.ms = times->build_ms + times->compose_ms;
      call.items = 1.0;
      return call;
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
