// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/bench_data.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/perturbation.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/bench/bench_options.h"

namespace voxloc::bench {

void AddMapFlags(CLI::App& app, MapOptions& options) {
  app.add_option(
      "--map", options.map,
      "Build the map from a cloud file, a directory of clouds, or an Autoware map directory");
  app.add_option("--map-poses", options.map_poses,
                 "Place the clouds of the map by the KITTI poses of this file");
  app.add_option(
      "--map-record-floats", options.record_floats,
      "Take .bin files of the map to have this many float32 a point; 0: by their values");
}

void AddScanFlags(CLI::App& app, ScanOptions& options) {
  app.add_option("--scans", options.scans, "Read the scans of this directory");
  app.add_option("--poses", options.poses, "Read the true poses of the scans from this file");
  app.add_option("--pose-format", options.pose_format, "kitti or tum")->capture_default_str();
  auto* guesses = app.add_option("--guesses", options.guesses,
                                 "Read the start poses from this file, in the format of --poses");
  app.add_option(
         "--perturb", options.perturb,
         "Add DX,DY,DZ,DROLL,DPITCH,DYAW (m, deg) to the true poses; the seed decides the signs")
      ->excludes(guesses);
  app.add_option("--seed", options.seed, "Set the seed of --perturb and --points")
      ->capture_default_str();
  app.add_option("--leaf", options.leaf_m,
                 "Replace the points of each voxel of this edge by their centroid, m; 0: off")
      ->capture_default_str();
  app.add_option("--points", options.points, "Choose this many points at random; 0: all")
      ->capture_default_str();
  app.add_option("--record-floats", options.record_floats,
                 "Take .bin scans to have this many float32 a point; 0: by their values");
  app.add_option("--min-range", options.min_range_m, "Drop points nearer than this, m")
      ->capture_default_str();
}

void RequireMapAndScans(CLI::App& app) {
  for (const char* option : {"--map", "--scans", "--poses"}) app.get_option(option)->required();
}

absl::StatusOr<std::vector<PointCloud>> LoadMapClouds(const MapOptions& options) {
  MapSourceOptions sourcing;
  sourcing.poses = options.map_poses;
  sourcing.record_floats = options.record_floats;
  const auto sources = ResolveMapSources({options.map}, sourcing);
  if (!sources.ok()) return sources.status();
  std::vector<PointCloud> clouds;
  for (const TileSource& source : *sources) {
    absl::StatusOr<PointCloud> cloud = LoadTile(source);
    if (!cloud.ok()) return cloud.status();
    clouds.push_back(*std::move(cloud));
  }
  return clouds;
}

absl::StatusOr<BuiltMap> BuildMap(Engine& engine, const std::vector<PointCloud>& clouds,
                                  const std::vector<CellStatistics>& statistics) {
  BuiltMap built;
  absl::Status status;
  built.build_ms = TimeMs([&] {
    std::vector<std::shared_ptr<const ResidentTile>> tiles;
    for (const PointCloud& cloud : clouds) {
      auto tile = engine.BuildTile(cloud, statistics);
      if (!tile.ok()) {
        status = tile.status();
        return;
      }
      built.points += (*tile)->points();
      tiles.push_back(*std::move(tile));
    }
    auto map = engine.Compose(tiles, statistics, nullptr);
    status = map.status();
    if (map.ok()) built.resident = *std::move(map);
  });
  if (!status.ok()) return status;
  return built;
}

absl::StatusOr<Bench> MakeBench(const EngineOptions& engine, const std::string& profile,
                                const MapOptions& map) {
  auto made = MakeEngine(engine);
  if (!made.ok()) return made.status();
  auto found = ProfileOf(profile);
  if (!found.ok()) return found.status();
  const auto clouds = LoadMapClouds(map);
  if (!clouds.ok()) return clouds.status();
  auto built = BuildMap(**made, *clouds, RequiredStatistics({*found}));
  if (!built.ok()) return built.status();
  return Bench{*std::move(made), *std::move(found), *std::move(built)};
}

namespace {

// No twist from poses farther apart in time, seconds: as PoseBufferOptions::timeout_s.
constexpr double kMaxGapS = 1.0;

// Between the poses before and after, or the pose itself at either end. nullopt: the file has no
// stamps, or these poses are too far apart.
std::optional<Twist> TwistAt(const std::vector<StampedPose>& poses, TrajectoryFormat format,
                             size_t i) {
  if (format != TrajectoryFormat::kTum) return std::nullopt;
  const StampedPose& before = poses[i > 0 ? i - 1 : 0];
  const StampedPose& after = poses[std::min(i + 1, poses.size() - 1)];
  const double duration_s = static_cast<double>(after.stamp_ns - before.stamp_ns) * 1e-9;
  if (!(duration_s > 0.0 && duration_s <= 2.0 * kMaxGapS)) return std::nullopt;
  return MeanTwist(before.pose, after.pose, duration_s);
}

}  // namespace

absl::StatusOr<std::vector<BenchScan>> LoadScans(const ScanOptions& options) {
  const auto format = TrajectoryFormatNamed(options.pose_format);
  if (!format.ok()) return format.status();
  const auto files = ListClouds(options.scans);
  if (!files.ok()) return files.status();
  const auto poses = ReadTrajectory(options.poses, *format);
  if (!poses.ok()) return poses.status();
  std::vector<StampedPose> guesses = *poses;
  if (!options.guesses.empty()) {
    auto read = ReadTrajectory(options.guesses, *format);
    if (!read.ok()) return read.status();
    guesses = *std::move(read);
  }
  if (poses->size() != files->size() || guesses.size() != files->size()) {
    return absl::InvalidArgumentError(absl::StrCat(files->size(), " scans in ", options.scans,
                                                   ", but ", poses->size(), " poses and ",
                                                   guesses.size(), " guesses"));
  }
  const auto order = PairingOrder(*files);
  if (!order.ok()) return order.status();
  absl::FPrintF(stderr, "poses are paired with the scans %s\n", *order);
  Perturbation perturbation;
  if (!options.perturb.empty()) {
    const auto parsed = ParsePerturbation(options.perturb);
    if (!parsed.ok()) return parsed.status();
    perturbation = *parsed;
  }
  FilterOptions filter;
  filter.min_range_m = options.min_range_m;
  filter.voxel_leaf_m = options.leaf_m;
  filter.max_points = options.points;
  filter.random_seed = options.seed;
  CloudReadOptions read;
  read.record_floats = options.record_floats;
  std::vector<BenchScan> scans;
  for (size_t i = 0; i < files->size(); ++i) {
    const auto cloud = ReadCloud((*files)[i], read);
    if (!cloud.ok()) return cloud.status();
    auto filtered = FilterCloud(*cloud, filter);
    if (!filtered.ok()) return filtered.status();
    BenchScan scan;
    scan.cloud = std::make_shared<const PointCloud>(std::move(filtered->cloud));
    scan.map_T_base = (*poses)[i].pose;
    scan.base_twist = TwistAt(*poses, *format, i);
    scan.map_T_base_guess = guesses[i].pose;
    if (!options.perturb.empty()) {
      scan.map_T_base_guess = Perturb(guesses[i].pose, perturbation, options.seed, i);
    }
    scans.push_back(std::move(scan));
  }
  return scans;
}

}  // namespace voxloc::bench
