// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench build`: how long points in memory take to become a map to align in.

#include <cstdio>
#include <memory>

#include "core/engine/profile.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

struct BuildFlags {
  EngineOptions engine;
  MapOptions map;
  size_t synthetic_points = 0;
  double extent_m = 200.0;
  uint64_t seed = 0;
  double cell_size_m = 2.0;
  size_t repeat = 11;
  std::string json;
};

absl::Status RunBuild(const BuildFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  std::vector<PointCloud> clouds;
  if (options.map.map.empty()) {
    clouds.push_back(SyntheticCloud(options.synthetic_points, options.extent_m, options.seed));
  } else {
    auto loaded = LoadMapClouds(options.map);
    if (!loaded.ok()) return loaded.status();
    clouds = *std::move(loaded);
  }
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
  app->add_option("--extent", options->extent_m, "Set the edge of the generated square, m")
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Set the seed of the generated points")
      ->capture_default_str();
  app->add_option("--cell-size", options->cell_size_m, "Set the edge of a cell, m")
      ->capture_default_str();
  AddRepeatFlag(*app, options->repeat, "Time this many builds, after one to warm up");
  AddJsonFlag(*app, options->json);
  return {app, [options]() -> absl::Status {
            if (options->map.map.empty() && options->synthetic_points == 0) {
              return absl::InvalidArgumentError("build needs --map or --synthetic");
            }
            return RunBuild(*options);
          }};
}

}  // namespace voxloc::bench
