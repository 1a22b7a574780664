// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/gpu_data.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

constexpr size_t kSyntheticMapPoints = 1'500'000;
constexpr double kSyntheticMapM = 140.0;
constexpr size_t kSyntheticScans = 20;
constexpr size_t kSyntheticScanPoints = 1531;
// Start errors of the dense scans: as those of the thin ones.
constexpr char kDensePerturbation[] = "0.4,0.3,0.1,0,0,2";

GpuData Synthetic(const GpuDataOptions& options) {
  GpuData data;
  data.source = "made up";
  data.map = {SyntheticCloud(kSyntheticMapPoints, kSyntheticMapM, options.scans.seed)};
  data.scans = SyntheticScans(kSyntheticScans, kSyntheticScanPoints, options.scans.seed + 1000);
  for (const size_t points : options.dense_points) {
    data.dense_scans.push_back(SyntheticScans(kSyntheticScans, points, options.scans.seed + 2000));
  }
  return data;
}

}  // namespace

void AddGpuDataFlags(CLI::App& app, GpuDataOptions& options) {
  AddMapFlags(app, options.map);
  AddScanFlags(app, options.scans);
  app.get_option("--scans")->needs("--map");
  app.get_option("--map")->needs("--scans")->needs("--poses");
  app.add_option("--dense-scans", options.dense_scans,
                 "Read full scans in the same map from this directory")
      ->needs("--map");
  app.add_option("--dense-poses", options.dense_poses,
                 "Read the true poses of the full scans from this file")
      ->needs("--dense-scans");
  app.get_option("--dense-scans")->needs("--dense-poses");
  app.add_option("--dense-points", options.dense_points,
                 "Choose so many points of the full scans at random, for each of these numbers")
      ->expected(1, 20)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

absl::StatusOr<GpuData> LoadGpuData(const GpuDataOptions& options) {
  if (options.map.map.empty()) return Synthetic(options);
  GpuData data;
  data.source = options.map.map;
  auto map = LoadMapClouds(options.map);
  if (!map.ok()) return map.status();
  data.map = *std::move(map);
  auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();
  data.scans = *std::move(scans);
  if (options.dense_scans.empty()) return data;
  ScanOptions dense;
  dense.scans = options.dense_scans;
  dense.poses = options.dense_poses;
  dense.pose_format = options.scans.pose_format;
  dense.perturb = kDensePerturbation;
  dense.seed = options.scans.seed;
  dense.min_range_m = 0.5;
  for (const size_t points : options.dense_points) {
    dense.points = points;
    auto dense_scans = LoadScans(dense);
    if (!dense_scans.ok()) return dense_scans.status();
    data.dense_scans.push_back(*std::move(dense_scans));
  }
  return data;
}

}  // namespace voxloc::bench
