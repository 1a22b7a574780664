// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues of small symmetric matrices: Eigen's SelfAdjointEigenSolver, compiled in one place.
// A source that uses the template itself takes ten seconds longer to compile.

#ifndef VOXLOC_CORE_GEOMETRY_SYMMETRIC_EIGEN_H_
#define VOXLOC_CORE_GEOMETRY_SYMMETRIC_EIGEN_H_

#include <Eigen/Core>

#include "core/geometry/covariance.h"

namespace voxloc {

// Eigenvalues in ascending order, and eigenvectors of length 1 as columns in the same order.
template <int kSize>
struct SymmetricEigen {
  Eigen::Matrix<double, kSize, 1> values;
  Eigen::Matrix<double, kSize, kSize> vectors;
};

// Reads the lower triangle of a finite matrix. Thread-safe.
[[nodiscard]] SymmetricEigen<6> DecomposeSymmetric(const Matrix6& symmetric);
[[nodiscard]] SymmetricEigen<2> DecomposeSymmetric(const Eigen::Matrix2d& symmetric);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_SYMMETRIC_EIGEN_H_
