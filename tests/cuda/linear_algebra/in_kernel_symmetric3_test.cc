// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues and inverses of 3x3 matrices as the kernels compute them, against Eigen and against
// cuSOLVER.

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "tests/cuda/linear_algebra/algebra_fixture.h"
#include "tests/cuda/linear_algebra/in_kernel_algebra.h"

namespace voxloc::cuda {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

ndt::Symmetric3<double> ToSymmetric(const Matrix3d& m) {
  return {m(0, 0), m(0, 1), m(0, 2), m(1, 1), m(1, 2), m(2, 2)};
}

Matrix3d FromSymmetric(const ndt::Symmetric3<double>& s) {
  Matrix3d m;
  m << s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz;
  return m;
}

std::vector<ndt::Symmetric3<double>> ToSymmetric(const std::vector<Matrix3d>& matrices) {
  std::vector<ndt::Symmetric3<double>> all;
  for (const Matrix3d& matrix : matrices) all.push_back(ToSymmetric(matrix));
  return all;
}

// Covariances of cells (spread, flat, thin), and whatever else is symmetric.
std::vector<Matrix3d> Matrices() {
  RandomNumbers random(61);
  std::vector<Matrix3d> matrices = {Matrix3d::Zero(), Matrix3d::Identity(),
                                    Vector3d(3.0, 1.0, 2.0).asDiagonal(),
                                    Vector3d(0.0, 0.0, -2.0).asDiagonal()};
  for (int trial = 0; trial < 4000; ++trial) {
    Vector3d values;
    switch (trial % 6) {
      case 0:  // anything
        values = random.NormalVector();
        break;
      case 1:  // flat
        values = {1e-6, random.Uniform(0.1, 1.0), random.Uniform(0.1, 1.0)};
        break;
      case 2:  // thin
        values = {1e-8, 1e-8, random.Uniform(0.1, 1.0)};
        break;
      case 3:  // the same along two axes
        values = {0.3, 0.3, random.Uniform(-1.0, 1.0)};
        break;
      case 4:  // the same along all
        values.setConstant(random.Uniform(0.1, 5.0));
        break;
      default:  // of very different sizes
        for (double& value : values) value = std::pow(10.0, random.Uniform(-12.0, 6.0));
        break;
    }
    matrices.push_back(WithEigenvalues<3>(values, random));
  }
  return matrices;
}

TEST_F(OnDevice, InKernelEigenvaluesOf3x3AreEigens) {
  const std::vector<Matrix3d> matrices = Matrices();
  const auto results = EigenDecomposeInKernel(device_, ToSymmetric(matrices));
  ASSERT_TRUE(results.ok()) << results.status();
  double largest = 0.0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const Vector3d expected = Eigen::SelfAdjointEigenSolver<Matrix3d>(matrices[i]).eigenvalues();
    const double norm = expected.cwiseAbs().maxCoeff();
    const double scale = norm > 0.0 ? norm : 1.0;
    Vector3d values;
    Matrix3d vectors;
    for (int k = 0; k < 3; ++k) {
      values[k] = (*results)[i].value[k];
      const ndt::Vector3<double>& v = (*results)[i].vector[k];
      vectors.col(k) << v.x, v.y, v.z;
    }
    ASSERT_LE(values[0], values[1]);
    ASSERT_LE(values[1], values[2]);
    const double error = (values - expected).cwiseAbs().maxCoeff() / scale;
    const Matrix3d residual = matrices[i] * vectors - vectors * values.asDiagonal();
    const double skew =
        (vectors.transpose() * vectors - Matrix3d::Identity()).cwiseAbs().maxCoeff();
    ASSERT_LE(error, 1e-14) << matrices[i];
    ASSERT_LE(residual.cwiseAbs().maxCoeff(), 1e-14 * scale) << matrices[i];
    ASSERT_LE(skew, 1e-14) << matrices[i];
    largest = std::max({largest, error, residual.cwiseAbs().maxCoeff() / scale, skew});
  }
  std::cout << matrices.size() << " matrices, largest deviation " << largest << std::endl;
}

// In the corner of a 6x6 matrix whose other eigenvalues are larger than any of the 3x3's.
TEST_F(WithCusolver, InKernelEigenvaluesOf3x3AreCusolvers) {
  const std::vector<Matrix3d> matrices = Matrices();
  std::vector<Matrix6> embedded;
  for (const Matrix3d& matrix : matrices) {
    const double scale = std::max(matrix.norm(), 1e-300);
    Matrix6 larger = Matrix6::Zero();
    larger.topLeftCorner<3, 3>() = matrix;
    larger.bottomRightCorner<3, 3>() = Vector3d(4.0 * scale, 6.0 * scale, 8.0 * scale).asDiagonal();
    embedded.push_back(larger);
  }
  const auto expected = solver_->Decompose(embedded);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto results = EigenDecomposeInKernel(device_, ToSymmetric(matrices));
  ASSERT_TRUE(results.ok()) << results.status();
  double largest = 0.0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const double scale = std::max(matrices[i].norm(), 1e-300);
    for (int k = 0; k < 3; ++k) {
      const double value = (*results)[i].value[k];
      const double error = std::abs(value - (*expected)[i].values[k]) / scale;
      ASSERT_LE(error, 1e-13) << matrices[i];
      largest = std::max(largest, error);
      // Where an eigenvalue stands alone, the vectors agree up to their sign.
      double gap = HUGE_VAL;
      for (int other = 0; other < 3; ++other) {
        if (other != k) gap = std::min(gap, std::abs(value - (*results)[i].value[other]));
      }
      if (gap < 1e-3 * scale) continue;
      const ndt::Vector3<double>& v = (*results)[i].vector[k];
      const Vector3d cusolver = (*expected)[i].vectors.col(k).head<3>();
      ASSERT_NEAR(std::abs(cusolver.dot(Vector3d(v.x, v.y, v.z))), 1.0, 1e-12);
    }
  }
  std::cout << matrices.size() << " matrices, largest deviation " << largest << std::endl;
}

TEST_F(OnDevice, InKernelInversesOf3x3AreEigens) {
  RandomNumbers random(62);
  std::vector<Matrix3d> matrices;
  for (int trial = 0; trial < 3000; ++trial) {
    Vector3d values;
    for (double& value : values) value = std::pow(10.0, random.Uniform(-4.0, 0.0));
    if (trial % 2 == 1) values[0] = -values[0];
    matrices.push_back(WithEigenvalues<3>(values, random));
  }
  const auto inverses = InvertInKernel(device_, ToSymmetric(matrices));
  ASSERT_TRUE(inverses.ok()) << inverses.status();
  double largest = 0.0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const Matrix3d expected = matrices[i].fullPivLu().inverse();
    const double condition = matrices[i].norm() * expected.norm();
    const double error = (FromSymmetric((*inverses)[i]) - expected).norm() / expected.norm();
    // Cofactors lose up to the square of what a factorisation does.
    ASSERT_LE(error, 1e-14 * condition * condition) << matrices[i];
    largest = std::max(largest, error / condition);
  }
  std::cout << "largest relative deviation, in condition numbers: " << largest << std::endl;
}

TEST_F(OnDevice, InKernelInverseOfASingular3x3IsNotFinite) {
  const auto inverses = InvertInKernel(device_, {{}, {1.0, 0.0, 0.0, 1.0, 0.0, 0.0}});
  ASSERT_TRUE(inverses.ok()) << inverses.status();
  for (const ndt::Symmetric3<double>& inverse : *inverses) {
    EXPECT_FALSE(FromSymmetric(inverse).allFinite());
  }
}

}  // namespace
}  // namespace voxloc::cuda
