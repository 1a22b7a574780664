// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench build`: times of building a map from points in memory, of replacing a tile, and of
// exporting and importing tiles.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/engine/profile.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/synthetic_data.h"
#include "tests/bench/tiled_map.h"

namespace voxloc::bench {
namespace {

struct BuildFlags {
  EngineOptions engine;
  MapOptions map;
  size_t synthetic_points = 0;
  double extent_m = 200.0;
  uint64_t seed = 0;
  double cell_size_m = 2.0;
  bool replace = false;
  TiledMap::Size tiled;
  bool exchange = false;
  size_t repeat = 11;
  std::string json;
};

// Replaces tiles of a map with the cells of these profiles, and prints a line.
absl::StatusOr<nlohmann::json> MeasureReplacing(Engine& engine,
                                                const std::vector<std::string>& profiles,
                                                const TiledMap::Size& size, size_t repeat) {
  const auto named = ProfilesOf(profiles);
  if (!named.ok()) return named.status();
  const auto tiled = TiledMap::Make(engine, RequiredStatistics(*named), size);
  if (!tiled.ok()) return tiled.status();
  std::vector<double> build_ms;
  std::vector<double> compose_ms;
  std::vector<double> both_ms;
  for (size_t i = 0; i <= repeat; ++i) {
    const absl::StatusOr<TiledMap::Times> times = (*tiled)->Replace(i);
    if (!times.ok()) return times.status();
    if (i == 0) continue;
    build_ms.push_back(times->build_ms);
    compose_ms.push_back(times->compose_ms);
    both_ms.push_back(times->build_ms + times->compose_ms);
  }
  const Summary both = Summarize(both_ms);
  const Summary build = Summarize(build_ms);
  const Summary compose = Summarize(compose_ms);
  const std::string names = absl::StrJoin(profiles, " and ");
  std::printf(
      "replace 1 of %zu tiles of %zu points, %s: p50 %.2f  p95 %.2f  max %.2f ms (build p50 "
      "%.2f, compose p50 %.2f ms); the map takes %.0f MB\n",
      size.tiles_along_edge * size.tiles_along_edge, size.tile_points, names.c_str(), both.p50,
      both.p95, both.max, build.p50, compose.p50,
      static_cast<double>((*tiled)->map().MemoryBytes()) / 1e6);
  return nlohmann::json{{"profiles", profiles},
                        {"map_bytes", (*tiled)->map().MemoryBytes()},
                        {"build_ms", ToJson(build)},
                        {"compose_ms", ToJson(compose)},
                        {"replace_ms", ToJson(both)}};
}

absl::Status RunReplace(const BuildFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  std::printf("engine  %s\n", (*engine)->Info().device.c_str());
  nlohmann::json rows = nlohmann::json::array();
  const std::vector<std::vector<std::string>> sets = {{"autoware"}, {"autoware", "precise"}};
  for (const std::vector<std::string>& profiles : sets) {
    auto row = MeasureReplacing(**engine, profiles, options.tiled, options.repeat);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return WriteJson(options.json, {{"engine", (*engine)->Info().name},
                                  {"device", (*engine)->Info().device},
                                  {"replace", rows}});
}

absl::StatusOr<std::vector<PointCloud>> CloudsOf(const BuildFlags& options) {
  if (!options.map.map.empty()) return LoadMapClouds(options.map);
  return std::vector<PointCloud>{
      SyntheticCloud(options.synthetic_points, options.extent_m, options.seed)};
}

// What a round of RunExchange takes and makes.
struct Exchange {
  double build_ms = 0.0;    // tiles from points
  double export_ms = 0.0;   // bytes from tiles
  double import_ms = 0.0;   // tiles from bytes
  double compose_ms = 0.0;  // the map from these, from nothing
  size_t bytes = 0;
  size_t tile_memory_bytes = 0;  // of all tiles
  size_t map_memory_bytes = 0;   // of the map that is composed of them, beside them
};

absl::StatusOr<Exchange> ExchangeTiles(Engine& engine, const std::vector<PointCloud>& clouds,
                                       const std::vector<CellStatistics>& statistics) {
  Exchange exchange;
  absl::Status status;
  std::vector<std::shared_ptr<const ResidentTile>> built;
  exchange.build_ms = TimeMs([&] {
    for (const PointCloud& cloud : clouds) {
      auto tile = engine.BuildTile(cloud, statistics);
      status.Update(tile.status());
      if (tile.ok()) built.push_back(*std::move(tile));
    }
  });
  std::vector<std::string> exported;
  exchange.export_ms = TimeMs([&] {
    for (const auto& tile : built) {
      auto bytes = engine.ExportTile(*tile);
      status.Update(bytes.status());
      if (bytes.ok()) exported.push_back(*std::move(bytes));
    }
  });
  built.clear();
  for (const std::string& bytes : exported) exchange.bytes += bytes.size();
  exchange.import_ms = TimeMs([&] {
    for (const std::string& bytes : exported) {
      auto tile = engine.ImportTile(bytes);
      status.Update(tile.status());
      if (tile.ok()) built.push_back(*std::move(tile));
    }
  });
  for (const auto& tile : built) exchange.tile_memory_bytes += tile->MemoryBytes();
  exchange.compose_ms = TimeMs([&] {
    auto map = engine.Compose(built, statistics, nullptr);
    status.Update(map.status());
    if (map.ok()) exchange.map_memory_bytes = (*map)->MemoryBytes();
  });
  if (!status.ok()) return status;
  return exchange;
}

absl::Status RunExchange(const BuildFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto clouds = CloudsOf(options);
  if (!clouds.ok()) return clouds.status();
  size_t points = 0;
  for (const PointCloud& cloud : *clouds) points += cloud.size();
  const std::vector<CellStatistics> statistics =
      RequiredStatistics({AutowareProfile(), PreciseProfile()});
  std::vector<double> build_ms;
  std::vector<double> export_ms;
  std::vector<double> import_ms;
  std::vector<double> compose_ms;
  Exchange last;
  for (size_t i = 0; i <= options.repeat; ++i) {
    const absl::StatusOr<Exchange> exchange = ExchangeTiles(**engine, *clouds, statistics);
    if (!exchange.ok()) return exchange.status();
    last = *exchange;
    if (i == 0) continue;
    build_ms.push_back(exchange->build_ms);
    export_ms.push_back(exchange->export_ms);
    import_ms.push_back(exchange->import_ms);
    compose_ms.push_back(exchange->compose_ms);
  }
  std::printf("engine   %s\n", (*engine)->Info().device.c_str());
  std::printf(
      "exchange %zu points in %zu tiles, the cells of both profiles: %zu bytes, %.1f a point; in "
      "memory the tiles take %zu bytes and the map beside them %zu; build p50 %.1f, export p50 "
      "%.1f, import p50 %.1f, compose p50 %.1f ms\n",
      points, clouds->size(), last.bytes,
      static_cast<double>(last.bytes) / static_cast<double>(points), last.tile_memory_bytes,
      last.map_memory_bytes, Summarize(build_ms).p50, Summarize(export_ms).p50,
      Summarize(import_ms).p50, Summarize(compose_ms).p50);
  return WriteJson(options.json, {{"engine", (*engine)->Info().name},
                                  {"device", (*engine)->Info().device},
                                  {"points", points},
                                  {"tiles", clouds->size()},
                                  {"bytes", last.bytes},
                                  {"tile_memory_bytes", last.tile_memory_bytes},
                                  {"map_memory_bytes", last.map_memory_bytes},
                                  {"build_ms", ToJson(Summarize(build_ms))},
                                  {"export_ms", ToJson(Summarize(export_ms))},
                                  {"import_ms", ToJson(Summarize(import_ms))},
                                  {"compose_ms", ToJson(Summarize(compose_ms))}});
}

absl::Status RunBuild(const BuildFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto loaded = CloudsOf(options);
  if (!loaded.ok()) return loaded.status();
  const std::vector<PointCloud>& clouds = *loaded;
  CellStatistics statistics = AutowareProfile().stages[0].cells;
  statistics.cell_size_m = options.cell_size_m;

  std::vector<double> build_ms;
  size_t cells = 0;
  size_t points = 0;
  for (size_t i = 0; i <= options.repeat; ++i) {
    const auto map = BuildMap(**engine, clouds, {statistics});
    if (!map.ok()) return map.status();
    if (i > 0) build_ms.push_back(map->build_ms);
    cells = map->resident->cells(0);
    points = map->points;
  }
  const Summary summary = Summarize(build_ms);
  std::printf("engine  %s\n", (*engine)->Info().device.c_str());
  std::printf(
      "build   %zu points in %zu tiles, %zu cells of %g m: p50 %.1f  p95 %.1f  max %.1f ms\n",
      points, clouds.size(), cells, options.cell_size_m, summary.p50, summary.p95, summary.max);
  return WriteJson(options.json, {{"engine", (*engine)->Info().name},
                                  {"device", (*engine)->Info().device},
                                  {"points", points},
                                  {"tiles", clouds.size()},
                                  {"cells", cells},
                                  {"cell_size_m", options.cell_size_m},
                                  {"build_ms", ToJson(summary)}});
}

}  // namespace

Command AddBuildCommand(CLI::App& program) {
  auto options = std::make_shared<BuildFlags>();
  CLI::App* app = program.add_subcommand("build", "Measure the build of a map");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  app->add_option("--synthetic", options->synthetic_points,
                  "Build from this many generated points instead of --map")
      ->check(CLI::Range(size_t{1}, size_t{200'000'000}))
      ->excludes("--map");
  app->add_flag("--exchange", options->exchange,
                "Measure an export and an import of the tiles beside their build, with the cells "
                "of both profiles");
  app->add_flag("--replace", options->replace,
                "Measure replacing one of many generated tiles of 60 m instead, with the cells of "
                "one profile and of both")
      ->excludes("--map")
      ->excludes("--synthetic");
  app->add_option("--tiles-along-edge", options->tiled.tiles_along_edge,
                  "Set how many of these tiles lie along each edge of the map")
      ->check(CLI::Range(size_t{1}, size_t{100}))
      ->capture_default_str();
  app->add_option("--tile-points", options->tiled.tile_points,
                  "Set the points of each of these tiles")
      ->check(CLI::Range(size_t{100}, size_t{10'000'000}))
      ->capture_default_str();
  app->add_option("--extent", options->extent_m, "Set the edge of the generated square, m")
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Set the seed of the generated points")
      ->capture_default_str();
  app->add_option("--cell-size", options->cell_size_m, "Set the edge of a cell, m")
      ->capture_default_str();
  AddRepeatFlag(*app, options->repeat, "Time this many builds, after one to warm up");
  AddJsonFlag(*app, options->json);
  return {app, [options]() -> absl::Status {
            if (options->replace) return RunReplace(*options);
            if (options->map.map.empty() && options->synthetic_points == 0) {
              return absl::InvalidArgumentError("build needs --map, --synthetic or --replace");
            }
            return options->exchange ? RunExchange(*options) : RunBuild(*options);
          }};
}

}  // namespace voxloc::bench
