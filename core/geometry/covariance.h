// SPDX-License-Identifier: Apache-2.0
//
// Covariances and differences of poses.
//
// A pose covariance is 6x6, order x y z rx ry rz, metres and radians. Its rotation part is about
// the map's fixed axes (a left perturbation: R = exp([r]x) R_estimate), as ROS has it.

#ifndef VOXLOC_CORE_GEOMETRY_COVARIANCE_H_
#define VOXLOC_CORE_GEOMETRY_COVARIANCE_H_

#include <Eigen/Core>

#include "core/geometry/pose.h"

namespace voxloc {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

// The covariance with both blocks expressed in axes rotated by a_R_b: diag(R, R) C diag(R, R)^T.
[[nodiscard]] Matrix6 RotateCovariance(const Eigen::Matrix3d& a_R_b, const Matrix6& covariance_b);

// From one pose to another, order x y z rx ry rz, metres and radians: the rotation about the map's
// fixed axes, as axis times angle in [0, pi], with which R_to = exp([r]x) R_from.
[[nodiscard]] Vector6 FixedAxesDifference(const Pose& from_map_T_base, const Pose& to_map_T_base);

// The pose that such a difference leads to: FixedAxesDifference(from, to) leads from `from` to
// `to`.
[[nodiscard]] Pose MovedByFixedAxes(const Pose& from_map_T_base, const Vector6& difference);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_COVARIANCE_H_
