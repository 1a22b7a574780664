// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_source.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/dataset/map_yaml.h"
#include "clients/dataset/scan_directory.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMetadataName = "pointcloud_map_metadata.yaml";
constexpr const char* kTileFolder = "pointcloud_map.pcd";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

absl::Status AddAutowareMap(const fs::path& directory, std::vector<TileSource>& sources) {
  VOXLOC_ASSIGN_OR_RETURN(const MapYaml yaml, ReadMapYaml((directory / kMetadataName).native()));
  std::vector<TileSource> tiles;
  for (const auto& [name, corner] : yaml.lowest_corner_of) {
    TileSource source;
    const fs::path beside = directory / name;
    const fs::path inside = directory / kTileFolder / name;
    if (!IsFile(inside) && !IsFile(beside)) {
      return absl::NotFoundError(absl::StrCat((directory / kMetadataName).native(), ": names ",
                                              name, ", but there is neither ", beside.native(),
                                              " nor ", inside.native()));
    }
    source.path = (IsFile(inside) ? inside : beside).native();
    source.bounds = XyBounds{corner, corner + yaml.resolution_m};
    source.listed = true;
    tiles.push_back(std::move(source));
  }
  std::sort(tiles.begin(), tiles.end(),
            [](const TileSource& a, const TileSource& b) { return CloudNameLess(a.path, b.path); });
  std::move(tiles.begin(), tiles.end(), std::back_inserter(sources));
  return absl::OkStatus();
}

absl::Status AddClouds(const std::string& path, std::vector<TileSource>& sources) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<std::string> clouds, ListClouds(path));
  for (const std::string& cloud : clouds) {
    TileSource source;
    source.path = cloud;
    source.listed = cloud != path;
    sources.push_back(std::move(source));
  }
  return absl::OkStatus();
}

void NameTiles(std::vector<TileSource>& sources) {
  std::set<std::string> taken;
  for (TileSource& source : sources) {
    const std::string stem = fs::path(source.path).stem().native();
    source.id = stem;
    for (size_t number = 2; !taken.insert(source.id).second; ++number) {
      source.id = absl::StrCat(stem, "-", number);
    }
  }
}

// Checks the orientation of the map: the z axes of the clouds should point up.
std::optional<std::string> OrientationWarning(const std::vector<TileSource>& sources) {
  constexpr double kMinUpZ = 0.5;
  double up = 0.0;
  for (const TileSource& source : sources) {
    up += (source.map_T_cloud->rotation * Eigen::Vector3d::UnitZ()).z();
  }
  up /= static_cast<double>(sources.size());
  if (up >= kMinUpZ) return std::nullopt;
  return absl::StrFormat(
      "the z axes of the clouds point up in the map by %.2f of their length on average, so that it "
      "lies on its side or upside down",
      up);
}

absl::Status AddPoses(const MapSourceOptions& options, std::vector<TileSource>& sources,
                      InputNotes* notes) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadPoses(options.poses, TrajectoryFormat::kKitti, options.calibration));
  if (poses.size() != sources.size()) {
    return absl::InvalidArgumentError(absl::StrCat(options.poses, ": has ", poses.size(),
                                                   " poses for ", sources.size(),
                                                   " clouds; the numbers must be equal"));
  }
  std::vector<std::string> paths;
  for (const TileSource& source : sources) paths.push_back(source.path);
  VOXLOC_ASSIGN_OR_RETURN(const std::string order, PairingOrder(paths));
  const Pose base_T_sensor = options.base_T_sensor.value_or(Pose());
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i].map_T_cloud = poses[i].pose * base_T_sensor;
  }
  if (notes == nullptr) return absl::OkStatus();
  notes->remarks.push_back(absl::StrCat("poses are paired with the clouds ", order));
  if (!options.calibration.empty()) {
    notes->remarks.push_back(absl::StrCat(
        "the poses are a camera's, and are moved to the LiDAR by ", options.calibration));
  }
  std::optional<std::string> warning = OrientationWarning(sources);
  if (!warning.has_value() && !options.base_T_sensor.has_value()) warning = AxesWarning(poses);
  if (warning.has_value()) notes->warnings.push_back(*std::move(warning));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TileSource>> ResolveMapSources(const std::vector<std::string>& paths,
                                                          const MapSourceOptions& options,
                                                          InputNotes* notes) {
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        "the map must be one or more cloud files or directories (got none)");
  }
  std::vector<TileSource> sources;
  for (const std::string& path : paths) {
    VOXLOC_TRY(IsFile(fs::path(path) / kMetadataName) ? AddAutowareMap(path, sources)
                                                      : AddClouds(path, sources));
  }
  NameTiles(sources);
  for (TileSource& source : sources) source.record_floats = options.record_floats;
  if (!options.poses.empty()) {
    VOXLOC_TRY(AddPoses(options, sources, notes));
  }
  if (notes != nullptr) {
    std::vector<std::string> clouds;
    for (const TileSource& source : sources) clouds.push_back(source.path);
    CloudReadOptions read;
    read.record_floats = options.record_floats;
    for (std::string& remark : DescribeClouds(clouds, read)) {
      notes->remarks.push_back(std::move(remark));
    }
  }
  return sources;
}

std::optional<std::string> FindProjectorYaml(const std::string& path) {
  const fs::path file = fs::path(path) / kProjectorYamlName;
  if (!IsFile(file)) return std::nullopt;
  return file.native();
}

absl::StatusOr<PointCloud> LoadTile(const TileSource& source, const CloudReadOptions& limits) {
  CloudReadOptions read = limits;
  read.record_floats = source.record_floats;
  absl::StatusOr<PointCloud> cloud = ReadCloud(source.path, read);
  if (!cloud.ok() || !source.map_T_cloud.has_value()) return cloud;
  return Transform(*source.map_T_cloud, *cloud);
}

}  // namespace voxloc
