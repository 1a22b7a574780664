// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark works on: a map built on the engine, scans with true poses, start poses.

#ifndef VOXLOC_TESTS_BENCH_BENCH_DATA_H_
#define VOXLOC_TESTS_BENCH_BENCH_DATA_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "tests/bench/bench_options.h"

namespace voxloc::bench {

struct MapOptions {
  std::string map;
  std::string map_poses;
  size_t record_floats = 0;  // of .bin files; 0: by their names and values
};

struct ScanOptions {
  std::string scans;
  std::string poses;
  std::string pose_format = "kitti";
  std::string guesses;
  std::string perturb;
  uint64_t seed = 0;
  double leaf_m = 0.0;
  size_t points = 0;
  double min_range_m = 0.0;
  size_t record_floats = 0;  // of .bin files; 0: by their names and values
};

struct BuiltMap {
  std::shared_ptr<const ResidentMap> resident;
  double build_ms = 0.0;  // from points in memory to a map to align in
  size_t points = 0;
};

struct BenchScan {
  std::shared_ptr<const PointCloud> cloud;
  Pose map_T_base;
  Pose map_T_base_guess;
  std::optional<Twist> base_twist;  // by the neighbouring true poses, where these have stamps
};

// None of them is required.
void AddMapFlags(CLI::App& app, MapOptions& options);
void AddScanFlags(CLI::App& app, ScanOptions& options);
// Makes the map, the scans and their poses required.
void RequireMapAndScans(CLI::App& app);

// The points of the map's files, tile by tile.
[[nodiscard]] absl::StatusOr<std::vector<PointCloud>> LoadMapClouds(const MapOptions& options);
[[nodiscard]] absl::StatusOr<BuiltMap> BuildMap(Engine& engine,
                                                const std::vector<PointCloud>& clouds,
                                                const std::vector<CellStatistics>& statistics);

// What is measured: a profile, on an engine, with the map that it needs.
struct Bench {
  std::unique_ptr<Engine> engine;
  Profile profile;
  BuiltMap map;
};
[[nodiscard]] absl::StatusOr<Bench> MakeBench(const EngineOptions& engine,
                                              const std::string& profile, const MapOptions& map);

[[nodiscard]] absl::StatusOr<std::vector<BenchScan>> LoadScans(const ScanOptions& options);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_BENCH_DATA_H_
