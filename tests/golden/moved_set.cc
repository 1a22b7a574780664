// SPDX-License-Identifier: Apache-2.0

#include "tests/golden/moved_set.h"

#include <cstddef>

namespace voxloc::golden {
namespace {

constexpr double kShift_m = 1e5;

void Add(nlohmann::json& values, size_t at, bool as_float32) {
  const double moved = values.at(at).get<double>() + kShift_m;
  values[at] = as_float32 ? static_cast<double>(static_cast<float>(moved)) : moved;
}

void MovePosition(nlohmann::json& position) {
  Add(position, 0, false);
  Add(position, 1, false);
}

void MovePose(nlohmann::json& row_major_16, bool as_float32 = false) {
  Add(row_major_16, 3, as_float32);
  Add(row_major_16, 7, as_float32);
}

}  // namespace

GoldenSet MovedFarFromTheOrigin(GoldenSet set) {
  set.target.origin += Eigen::Vector3d(kShift_m, kShift_m, 0.0);
  MovePose(set.json.at("truth"));
  if (set.json.contains("regularization_pose")) MovePose(set.json.at("regularization_pose"));
  for (auto& voxel : set.json.at("voxels")) MovePosition(voxel.at("mean"));
  for (auto& entry : set.json.at("derivatives")) {
    MovePose(entry.at("pose"));
    MovePosition(entry.at("p"));
  }
  for (auto& entry : set.json.at("alignments")) {
    MovePose(entry.at("guess"));
    MovePose(entry.at("final_pose"));
    for (auto& pose : entry.at("pose_array")) MovePose(pose);
    if (!entry.contains("multi_ndt_final")) continue;
    for (auto& pose : entry.at("multi_ndt_poses")) MovePose(pose, true);
    for (auto& pose : entry.at("multi_ndt_final")) MovePose(pose, true);
    MovePosition(entry.at("multi_ndt_mean"));
    MovePosition(entry.at("multi_ndt_score_mean_t0.05"));
  }
  return set;
}

}  // namespace voxloc::golden
