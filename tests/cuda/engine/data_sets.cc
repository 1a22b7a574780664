// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/engine/data_sets.h"

#include <Eigen/Geometry>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/support/engine_scene.h"
#include "tests/support/golden_set.h"
#include "tests/support/real_data.h"

namespace voxloc {
namespace {

constexpr size_t kScanPoints = 1500;
constexpr char kGoldenPrefix[] = "golden_";

struct RealSet {
  const char* name;
  const char* map;
  const char* scans;  // a folder, or one cloud
  const char* poses;  // of the scans; null: `map_T_base` is
  Pose map_T_base;
};

// What the point cloud library's own example aligns the second scan of the room from.
Pose RoomPose() { return Displaced({}, {1.79387, 0.720047, 0.0}, 0.6931); }

std::vector<RealSet> RealSets() {
  return {
      {"ouster_os1",
       "ouster_os1/map.ply",
       "ouster_os1/task/scans",
       "ouster_os1/task/poses.txt",
       {}},
      {"outdoor_pair", "outdoor_pair/map.pcd", "outdoor_pair/scans", "outdoor_pair/poses.txt", {}},
      {"room", "room/room_scan1.pcd", "room/room_scan2.pcd", nullptr, RoomPose()},
      {"courtyard", "courtyard/map.pcd", "courtyard/map.pcd", nullptr, {}},
      {"single_scan",
       "single_scan/organized_ascii.pcd",
       "single_scan/organized_ascii.pcd",
       nullptr,
       {}},
  };
}

// Without missing returns, at most `points` of them; 0: all.
absl::StatusOr<PointCloud> ReadThinned(const std::string& path, size_t points) {
  const absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  if (!cloud.ok()) return cloud.status();
  FilterOptions options;
  options.min_range_m = 0.5;
  options.max_points = points;
  absl::StatusOr<FilteredCloud> filtered = FilterCloud(*cloud, options);
  if (!filtered.ok()) return filtered.status();
  return std::move(filtered->cloud);
}

absl::StatusOr<DataSet> LoadReal(const std::string& folder, const RealSet& real) {
  DataSet set;
  auto map = ReadThinned(absl::StrCat(folder, "/", real.map), 0);
  if (!map.ok()) return map.status();
  set.tiles.push_back(*std::move(map));
  std::vector<std::string> files = {absl::StrCat(folder, "/", real.scans)};
  std::vector<StampedPose> poses(1);
  poses[0].pose = real.map_T_base;
  if (real.poses != nullptr) {
    auto listed = ListClouds(files[0]);
    if (!listed.ok()) return listed.status();
    auto read = ReadTrajectory(absl::StrCat(folder, "/", real.poses), TrajectoryFormat::kKitti);
    if (!read.ok()) return read.status();
    files = *std::move(listed);
    poses = *std::move(read);
  }
  if (files.size() != poses.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(real.name, ": ", files.size(), " scans, ", poses.size(), " poses"));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    auto scan = ReadThinned(files[i], 0);
    if (!scan.ok()) return scan.status();
    // The scans of the task are thin already, and taken as they are.
    if (scan->size() > 2 * kScanPoints) *scan = RandomSample(*scan, kScanPoints, 0);
    set.scans.push_back({std::make_shared<const PointCloud>(*std::move(scan)), poses[i].pose});
  }
  return set;
}

DataSet Synthetic(bool tiled) {
  DataSet set;
  set.tiles = {SceneMap()};
  // Tiles that cut cells: several Gaussians in a lattice cell where they are not merged.
  if (tiled) set.tiles = CutIntoTiles(set.tiles[0], 20, 20, {-31.0, -31.0}, {3.1, 3.1});
  for (const Eigen::Vector3d& shift :
       {Eigen::Vector3d(0.0, 0.0, 0.0), Eigen::Vector3d(-8.0, 6.0, 0.3)}) {
    const Pose pose = Displaced(ScenePose(), shift, shift.x());
    set.scans.push_back({std::make_shared<const PointCloud>(SceneScan(pose, kScanPoints)), pose});
  }
  return set;
}

absl::StatusOr<DataSet> LoadGolden(const std::string& directory, const std::string& name) {
  const golden::GoldenSet golden = golden::LoadGoldenSet(directory, name);
  const auto pose = PoseFromMatrix(golden::MatrixFromJson(golden.json.at("truth")));
  if (!pose.ok()) return pose.status();
  DataSet set;
  set.tiles = golden.Tiles();
  set.scans.push_back({golden.source, *pose});
  return set;
}

}  // namespace

std::vector<std::string> DataSetNames() {
  std::vector<std::string> names = {"synthetic", "synthetic_tiles"};
  for (const RealSet& real : RealSets()) names.emplace_back(real.name);
  return names;
}

std::vector<std::string> GoldenDataSetNames() {
  std::vector<std::string> names;
  if (const auto directory = GoldenDir()) {
    for (const std::string& name : golden::ListGoldenSets(*directory)) {
      names.push_back(kGoldenPrefix + name);
    }
  }
  return names;
}

absl::StatusOr<DataSet> LoadDataSet(const std::string& name) {
  if (name == "synthetic" || name == "synthetic_tiles") return Synthetic(name != "synthetic");
  absl::string_view golden_name = name;
  if (absl::ConsumePrefix(&golden_name, kGoldenPrefix)) {
    return LoadGolden(*GoldenDir(), std::string(golden_name));
  }
  const auto folder = RealDataDir();
  if (!folder) {
    return absl::NotFoundError("no real data: set VOXLOC_DATA_DIR to its folder");
  }
  for (const RealSet& real : RealSets()) {
    if (name == real.name) return LoadReal(*folder, real);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no data set ", name));
}

DataSet Moved(DataSet set, const Eigen::Vector3d& offset_m) {
  for (PointCloud& tile : set.tiles) tile.origin += offset_m;
  for (PlacedScan& scan : set.scans) scan.map_T_base.translation += offset_m;
  return set;
}

}  // namespace voxloc
