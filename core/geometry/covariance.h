// SPDX-License-Identifier: Apache-2.0
//
// Covariances and differences of poses, and the eigenvalues of symmetric matrices.
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

// The inverse: ApplyFixedAxesDifference(from, FixedAxesDifference(from, to)) = to.
[[nodiscard]] Pose ApplyFixedAxesDifference(const Pose& from_map_T_base, const Vector6& difference);

// Eigenvalues of small symmetric matrices: Eigen's SelfAdjointEigenSolver, compiled in one place.
// A source that uses the template itself takes ten seconds longer to compile. Eigenvalues in
// ascending order, and eigenvectors of length 1 as columns in the same order.
template <int kSize>
struct SymmetricEigen {
  Eigen::Matrix<double, kSize, 1> values;
  Eigen::Matrix<double, kSize, kSize> vectors;
};

// Reads the lower triangle of a finite matrix. Thread-safe.
[[nodiscard]] SymmetricEigen<6> DecomposeSymmetric(const Matrix6& symmetric);
[[nodiscard]] SymmetricEigen<2> DecomposeSymmetric(const Eigen::Matrix2d& symmetric);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_COVARIANCE_H_
