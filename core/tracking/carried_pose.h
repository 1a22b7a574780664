// SPDX-License-Identifier: Apache-2.0
//
// CarriedPose: where a vehicle was at one time, and where it must be later if odometry is right. A
// plain value: any number of threads may read one.

#ifndef VOXLOC_CORE_TRACKING_CARRIED_POSE_H_
#define VOXLOC_CORE_TRACKING_CARRIED_POSE_H_

#include <optional>

#include "core/geometry/pose.h"

namespace voxloc {

struct CarriedPose {
  Pose map_T_base;
  // At the same time, in a frame of its own; nullopt: unknown.
  std::optional<Pose> odometry_T_base;

  // Moved by what odometry has moved since then; as it is where odometry is unknown then or now.
  [[nodiscard]] Pose At(const std::optional<Pose>& later_odometry_T_base) const {
    if (!odometry_T_base || !later_odometry_T_base) return map_T_base;
    return map_T_base * (odometry_T_base->Inverse() * *later_odometry_T_base);
  }
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_CARRIED_POSE_H_
