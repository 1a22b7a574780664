// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/covariance.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

#include "core/geometry/euler.h"

namespace voxloc {

Matrix6 RotateCovariance(const Eigen::Matrix3d& a_R_b, const Matrix6& covariance_b) {
  Matrix6 rotation = Matrix6::Zero();
  rotation.topLeftCorner<3, 3>() = a_R_b;
  rotation.bottomRightCorner<3, 3>() = a_R_b;
  return rotation * covariance_b * rotation.transpose();
}

Vector6 FixedAxesDifference(const Pose& from_map_T_base, const Pose& to_map_T_base) {
  const Eigen::AngleAxisd turn(to_map_T_base.rotation * from_map_T_base.rotation.conjugate());
  Vector6 difference;
  difference.head<3>() = to_map_T_base.translation - from_map_T_base.translation;
  difference.tail<3>() = WrapAngle(turn.angle()) * turn.axis();
  return difference;
}

Pose ApplyFixedAxesDifference(const Pose& from_map_T_base, const Vector6& difference) {
  Pose moved = from_map_T_base;
  moved.translation += difference.head<3>();
  const double angle = difference.tail<3>().norm();
  if (angle > 0.0) {
    const Eigen::Vector3d axis = difference.tail<3>() / angle;
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(angle, axis));
    moved.rotation = (turn * moved.rotation).normalized();
  }
  return moved;
}

SymmetricEigen<6> DecomposeSymmetric(const Matrix6& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix6> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

SymmetricEigen<2> DecomposeSymmetric(const Eigen::Matrix2d& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace voxloc
