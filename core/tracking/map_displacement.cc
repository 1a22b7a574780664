// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/map_displacement.h"

namespace voxloc {
namespace {

constexpr double kStepM = 2.0;  // between two samples
// How many stretches the start is worth: what has been seen counts as much after 60 m.
constexpr double kStartStretches = 3.0;
constexpr double kLeastShare = 0.25;  // of the standard deviation

}  // namespace

void MapDisplacement::Move(const Pose& from_T_to) {
  odometry_T_base_ = odometry_T_base_ * from_T_to;
  way_m_ += from_T_to.translation.norm();
}

void MapDisplacement::Restart() { samples_.clear(); }

void MapDisplacement::Observe(const Pose& map_T_base) {
  if (!samples_.empty() && way_m_ < samples_.back().way_m + kStepM) return;
  samples_.push_back({way_m_, odometry_T_base_, map_T_base});
  if (way_m_ < samples_.front().way_m + kStretchM) return;
  const Sample& before = samples_.front();
  const Pose expected_map_T_base =
      before.map_T_base * (before.odometry_T_base.Inverse() * odometry_T_base_);
  const Eigen::Vector3d difference_base =
      map_T_base.rotation.conjugate() * (map_T_base.translation - expected_map_T_base.translation);
  constexpr double kWeight = kStepM / kStretchM;  // stretches overlap
  sum_m2_ += kWeight * 0.5 * difference_base.cwiseAbs2();
  stretches_ += kWeight;
  samples_.pop_front();
}

Eigen::Vector3d MapDisplacement::Sigma(const Eigen::Vector3d& start_sigma_m) const {
  const Eigen::Array3d variance = (kStartStretches * start_sigma_m.cwiseAbs2() + sum_m2_).array() /
                                  (kStartStretches + stretches_);
  return variance.sqrt().min(start_sigma_m.array()).max(kLeastShare * start_sigma_m.array());
}

}  // namespace voxloc
