// SPDX-License-Identifier: Apache-2.0
//
// PropagatedPose: a pose at one time, propagated to later times by odometry. A plain value: any
// number of threads may read one.

#ifndef VOXLOC_CORE_TRACKING_PROPAGATED_POSE_H_
#define VOXLOC_CORE_TRACKING_PROPAGATED_POSE_H_

#include <optional>

#include "core/geometry/pose.h"

namespace voxloc {

struct PropagatedPose {
  Pose map_T_base;
  // At the same time, in a frame of its own; nullopt: unknown.
  std::optional<Pose> odometry_T_base;

  // The pose moved by the odometry since then; unchanged if odometry is unknown then or now.
  [[nodiscard]] Pose At(const std::optional<Pose>& later_odometry_T_base) const {
    if (!odometry_T_base || !later_odometry_T_base) return map_T_base;
    return map_T_base * (odometry_T_base->Inverse() * *later_odometry_T_base);
  }
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_PROPAGATED_POSE_H_
