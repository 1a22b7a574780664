// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/symmetric3.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

using reference::ToEigen;

Symmetric3<double> FromEigen(const Eigen::Matrix3d& m) {
  return {m(0, 0), m(0, 1), m(0, 2), m(1, 1), m(1, 2), m(2, 2)};
}

Symmetric3<double> WithEigenvalues(const Eigen::Vector3d& values, RandomNumbers& random) {
  const Eigen::Matrix3d axes = random.Orthogonal<3>();
  return FromEigen(axes * values.asDiagonal() * axes.transpose());
}

// Random, degenerate, singular, indefinite, diagonal, huge and tiny ones.
std::vector<Symmetric3<double>> Samples() {
  RandomNumbers random(11);
  std::vector<Symmetric3<double>> samples = {
      {},                              // zero
      {1.0, 0.0, 0.0, 1.0, 0.0, 1.0},  // identity
      {3.0, 0.0, 0.0, 1.0, 0.0, 2.0},  // diagonal, out of order
      {1.0, 1.0, 1.0, 1.0, 1.0, 1.0},  // of rank one
      {2.0, 1.0, 0.0, 2.0, 0.0, 2.0},
      {0.0, 1.0, 0.0, 0.0, 0.0, 0.0},      // diagonal zero
      {1.0, 1e-17, 0.0, 1.0, 1e-17, 1.0},  // off the diagonal only rounding
      {1e-300, 0.0, 0.0, 1e-300, 0.0, 1e-300},
  };
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector3d values = random.InBox(1.0);
    const double scale = std::pow(10.0, random.Uniform(-12.0, 12.0));
    samples.push_back(WithEigenvalues(scale * values, random));
    samples.push_back(WithEigenvalues({values[0], values[0], values[1]}, random));
    samples.push_back(WithEigenvalues({values[0], values[0], values[0]}, random));
    samples.push_back(WithEigenvalues({0.0, 0.0, std::abs(values[0])}, random));
    samples.push_back(WithEigenvalues({0.0, values[1], values[0]}, random));
    samples.push_back(WithEigenvalues({1e-14, 1e-7, 1.0}, random));
    samples.push_back(WithEigenvalues({1.0, 1.0 + 1e-13, 1.0 + 1e-10}, random));
  }
  return samples;
}

TEST(Symmetric3Test, EigenvaluesAreThoseOfEigensSolverAndEigenvectorsRebuildTheMatrix) {
  for (const Symmetric3<double>& a : Samples()) {
    const Eigen3<double> ours = EigenDecompose(a);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(ToEigen(a));
    const double scale = ToEigen(a).cwiseAbs().maxCoeff();
    Eigen::Matrix3d vectors;
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(ours.value[i], solver.eigenvalues()[i], 1e-14 * scale) << ToEigen(a);
      vectors.col(i) << ours.vector[i].x, ours.vector[i].y, ours.vector[i].z;
    }
    EXPECT_LE(ours.value[0], ours.value[1]);
    EXPECT_LE(ours.value[1], ours.value[2]);
    EXPECT_LE((vectors.transpose() * vectors - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff(),
              1e-14);
    const Eigen::Vector3d values(ours.value[0], ours.value[1], ours.value[2]);
    const Eigen::Matrix3d rebuilt = vectors * values.asDiagonal() * vectors.transpose();
    EXPECT_LE((rebuilt - ToEigen(a)).cwiseAbs().maxCoeff(), 1e-14 * scale);
  }
}

TEST(Symmetric3Test, EigenvaluesInFloatAreGoodToFloat) {
  RandomNumbers random(12);
  for (int i = 0; i < 200; ++i) {
    const Symmetric3<double> a = WithEigenvalues(random.InBox(1.0), random);
    const Symmetric3<float> narrow = {static_cast<float>(a.xx), static_cast<float>(a.xy),
                                      static_cast<float>(a.xz), static_cast<float>(a.yy),
                                      static_cast<float>(a.yz), static_cast<float>(a.zz)};
    const Eigen3<float> ours = EigenDecompose(narrow);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(ToEigen(a));
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(static_cast<double>(ours.value[k]), solver.eigenvalues()[k], 2e-6);
    }
  }
}

TEST(Symmetric3Test, TheInverseIsEigens) {
  RandomNumbers random(13);
  for (int i = 0; i < 500; ++i) {
    Eigen::Vector3d values = random.InBox(1.0);
    for (double& value : values) value += std::copysign(1e-3, value);
    const Symmetric3<double> a = WithEigenvalues(values, random);
    const Eigen::Matrix3d expected = ToEigen(a).inverse();
    const double condition = values.cwiseAbs().maxCoeff() / values.cwiseAbs().minCoeff();
    EXPECT_LE((ToEigen(Inverse(a)) - expected).cwiseAbs().maxCoeff(),
              1e-13 * condition * expected.cwiseAbs().maxCoeff());
  }
}

TEST(Symmetric3Test, TheInverseOfASingularMatrixIsNotFinite) {
  EXPECT_FALSE(ToEigen(Inverse(Symmetric3<double>{1, 0, 0, 1, 0, 0})).allFinite());
  EXPECT_FALSE(ToEigen(Inverse(Symmetric3<double>{})).allFinite());
}

TEST(Symmetric3Test, EigenvaluesExceedWhatTheSmallestOneDoes) {
  int decided = 0;
  for (const Symmetric3<double>& a : Samples()) {
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(ToEigen(a));
    const double smallest = solver.eigenvalues()[0];
    const double scale = std::max(1e-300, ToEigen(a).cwiseAbs().maxCoeff());
    for (const double shift : {-1.0, -1e-6, 1e-6, 1.0}) {
      EXPECT_EQ(EigenvaluesExceed(a, smallest + shift * scale), shift < 0.0) << ToEigen(a);
      ++decided;
    }
  }
  EXPECT_GT(decided, 1000);
}

TEST(Symmetric3Test, ProductsAndSumsAreThoseOfFullMatrices) {
  RandomNumbers random(14);
  const Symmetric3<double> a = WithEigenvalues(random.InBox(1.0), random);
  const Eigen::Vector3d v = random.InBox(3.0);
  const Vector3<double> product = Multiply(a, {v.x(), v.y(), v.z()});
  EXPECT_LE((Eigen::Vector3d(product.x, product.y, product.z) - ToEigen(a) * v).norm(), 1e-14);
  const Symmetric3<double> sum = AddOuter(a, -2.5, {v.x(), v.y(), v.z()});
  EXPECT_LE((ToEigen(sum) - (ToEigen(a) - 2.5 * v * v.transpose())).norm(), 1e-13);
}

}  // namespace
}  // namespace voxloc::ndt
