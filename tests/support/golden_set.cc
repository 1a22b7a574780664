// SPDX-License-Identifier: Apache-2.0

#include "tests/support/golden_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc::golden {
namespace {

PointCloud ReadOrThrow(const std::string& path) {
  absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  if (!cloud.ok()) throw std::runtime_error(cloud.status().ToString());
  return *std::move(cloud);
}

}  // namespace

std::vector<PointCloud> GoldenSet::Tiles() const {
  // Tiles are kept in the order of their ids, as the reference's ordered map has them.
  std::vector<std::pair<std::string, PointCloud>> tiles;
  for (const auto& entry : json.at("tiles")) {
    PointCloud tile;
    tile.origin = target.origin;
    for (size_t i = entry.at("begin"); i < entry.at("end"); ++i) {
      tile.PushBack(target.x[i], target.y[i], target.z[i]);
    }
    tiles.emplace_back(entry.at("id").get<std::string>(), std::move(tile));
  }
  std::sort(tiles.begin(), tiles.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PointCloud> clouds;
  for (auto& [id, cloud] : tiles) clouds.push_back(std::move(cloud));
  return clouds;
}

Profile GoldenSet::MakeProfile() const {
  const auto& params = json.at("params");
  Profile profile = AutowareProfile();
  Stage& stage = profile.stages.front();
  stage.cells.cell_size_m = params.at("resolution");
  stage.cells.gaussian.min_points = params.at("min_points_per_voxel");
  stage.cells.gaussian.eigenvalue_ratio = params.at("eigenvalue_ratio");
  stage.outlier_ratio = params.at("outlier_ratio");
  stage.max_step = params.at("step_size");
  stage.epsilon = params.at("trans_epsilon");
  stage.max_iterations = params.at("max_iterations");
  profile.regularization_scale = params.at("regularization_scale_factor");
  return profile;
}

std::optional<Eigen::Vector3d> GoldenSet::RegularizationPosition() const {
  if (!json.contains("regularization_pose")) return std::nullopt;
  return Eigen::Vector3d(MatrixFromJson(json.at("regularization_pose")).topRightCorner<3, 1>());
}

std::vector<std::string> ListGoldenSets(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

GoldenSet LoadGoldenSet(const std::string& directory, const std::string& name) {
  GoldenSet set;
  set.name = name;
  const std::string base = absl::StrCat(directory, "/", name);
  std::ifstream file(base + ".json");
  set.json = nlohmann::json::parse(file);
  set.target = ReadOrThrow(base + "_target.pcd");
  set.source = std::make_shared<PointCloud>(ReadOrThrow(base + "_source.pcd"));
  return set;
}

Eigen::Matrix4d MatrixFromJson(const nlohmann::json& row_major_16) {
  Eigen::Matrix4d matrix;
  for (int i = 0; i < 16; ++i) matrix(i / 4, i % 4) = row_major_16.at(static_cast<size_t>(i));
  return matrix;
}

Eigen::Matrix3d Matrix3FromJson(const nlohmann::json& row_major_9) {
  Eigen::Matrix3d matrix;
  for (int i = 0; i < 9; ++i) matrix(i / 3, i % 3) = row_major_9.at(static_cast<size_t>(i));
  return matrix;
}

}  // namespace voxloc::golden
