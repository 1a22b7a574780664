// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/odometry_guess.h"

namespace voxloc::ros {

void OdometryGuess::Set(const Guess& guess, const std::optional<Pose>& odom_T_base) {
  guess_ = guess;
  odom_T_base_ = odom_T_base;
}

std::optional<OdometryGuess::Guess> OdometryGuess::At(
    const std::optional<Pose>& odom_T_base) const {
  if (!guess_.has_value() || !odom_T_base.has_value() || !odom_T_base_.has_value()) return guess_;
  Guess moved = *guess_;
  moved.map_T_base = guess_->map_T_base * odom_T_base_->Inverse() * *odom_T_base;
  return moved;
}

}  // namespace voxloc::ros
