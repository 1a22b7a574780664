// SPDX-License-Identifier: Apache-2.0
//
// A golden set: the reference's results for one map and one scan, from NAME.json and its two
// clouds.

#ifndef VOXLOC_TESTS_SUPPORT_GOLDEN_SET_H_
#define VOXLOC_TESTS_SUPPORT_GOLDEN_SET_H_

#include <Eigen/Core>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/profile.h"

namespace voxloc::golden {

struct GoldenSet {
  std::string name;
  nlohmann::json json;
  PointCloud target;
  std::shared_ptr<const PointCloud> source;

  // The tiles of the target, in the reference's order.
  std::vector<PointCloud> Tiles() const;
  // The autoware profile with the set's parameters.
  Profile MakeProfile() const;
  // The reference position, where the set was computed with one.
  std::optional<Eigen::Vector3d> RegularizationPosition() const;
  double Tolerance(const char* key) const { return json.at("tolerances").at(key).get<double>(); }
};

// The names of all sets in the directory, in order.
std::vector<std::string> ListGoldenSets(const std::string& directory);

// Throws what the JSON library throws where a set is malformed: that fails the test.
GoldenSet LoadGoldenSet(const std::string& directory, const std::string& name);

Eigen::Matrix4d MatrixFromJson(const nlohmann::json& row_major_16);
Eigen::Matrix3d Matrix3FromJson(const nlohmann::json& row_major_9);

}  // namespace voxloc::golden

#endif  // VOXLOC_TESTS_SUPPORT_GOLDEN_SET_H_
