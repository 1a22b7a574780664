// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/symmetric_eigen.h"

#include <Eigen/Eigenvalues>

namespace voxloc {

SymmetricEigen<6> DecomposeSymmetric(const Matrix6& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Matrix6> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

SymmetricEigen<2> DecomposeSymmetric(const Eigen::Matrix2d& symmetric) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(symmetric);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace voxloc
