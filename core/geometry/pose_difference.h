// SPDX-License-Identifier: Apache-2.0
//
// The difference of two poses as a vector, in the axes in which covariances of poses are given.

#ifndef VOXLOC_CORE_GEOMETRY_POSE_DIFFERENCE_H_
#define VOXLOC_CORE_GEOMETRY_POSE_DIFFERENCE_H_

#include <Eigen/Core>

#include "core/geometry/pose.h"

namespace voxloc {

// From one pose to another, order x y z rx ry rz, metres and radians: the rotation about the map's
// fixed axes, as axis times angle in [0, pi], with which R_to = exp([r]x) R_from.
[[nodiscard]] Eigen::Matrix<double, 6, 1> FixedAxesDifference(const Pose& from_map_T_base,
                                                              const Pose& to_map_T_base);

// The pose that such a difference leads to: FixedAxesDifference(from, to) leads from `from` to
// `to`.
[[nodiscard]] Pose MovedByFixedAxes(const Pose& from_map_T_base,
                                    const Eigen::Matrix<double, 6, 1>& difference);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_POSE_DIFFERENCE_H_
