// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/ndt/newton.h"
#include "tests/support/random_numbers.h"

namespace voxloc::ndt {
namespace {

Matrix6 Matrix6WithEigenvalues(const ChartVector& values, RandomNumbers& random) {
  const Matrix6 axes = random.Orthogonal<6>();
  const Matrix6 matrix = axes * values.asDiagonal() * axes.transpose();
  return 0.5 * (matrix + matrix.transpose());
}

ChartVector RandomVector(RandomNumbers& random) {
  ChartVector v;
  for (double& value : v) value = random.Normal();
  return v;
}

struct Operands {
  Matrix6x6 hessian;
  double gradient[6];
};

Operands ToOperands(const Matrix6& h, const ChartVector& g) {
  Operands operands;
  for (int i = 0; i < 6; ++i) {
    operands.gradient[i] = g[i];
    for (int j = 0; j < 6; ++j) operands.hessian.m[i][j] = h(i, j);
  }
  return operands;
}

ChartVector Solve(const Matrix6& h, const ChartVector& g) {
  const Operands operands = ToOperands(h, g);
  double step[6];
  SolveNewtonStep(operands.hessian, operands.gradient, step);
  return Eigen::Map<const ChartVector>(step);
}

ChartVector SolveByRotations(const Matrix6& h, const ChartVector& g) {
  const Operands operands = ToOperands(h, g);
  double step[6];
  SolveByEigenvalues(operands.hessian, operands.gradient, step);
  return Eigen::Map<const ChartVector>(step);
}

ChartVector ByEigen(const Matrix6& h, const ChartVector& g) {
  return Eigen::JacobiSVD<Matrix6>(h, Eigen::ComputeFullU | Eigen::ComputeFullV).solve(-g);
}

TEST(Solve6Test, DefiniteAndIndefiniteSystemsAreSolvedAsEigenDoes) {
  RandomNumbers random(21);
  for (int trial = 0; trial < 500; ++trial) {
    ChartVector values;
    for (double& value : values) {
      value = -std::pow(10.0, random.Uniform(-2.0, 3.0));
      if (trial % 2 == 1 && random.Uniform(0.0, 1.0) < 0.4) value = -value;
    }
    const Matrix6 h = Matrix6WithEigenvalues(values, random);
    const ChartVector g = RandomVector(random);
    const ChartVector expected = ByEigen(h, g);
    EXPECT_LE((Solve(h, g) - expected).norm() / expected.norm(), 1e-8) << values.transpose();
    EXPECT_LE((SolveByRotations(h, g) - expected).norm(), 1e-9 * expected.norm());
  }
}

// Tiny entries on the diagonal beside large ones off it: elimination without exchanging rows would
// lose every digit.
TEST(Solve6Test, AnIndefiniteSystemWithASmallDiagonalKeepsItsDigits) {
  RandomNumbers random(22);
  for (const double tiny : {0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-4}) {
    for (int at = 0; at < 6; ++at) {
      ChartVector values;
      for (double& value : values) value = random.Uniform(0.5, 2.0) * (random.Index(2) * 2 - 1);
      Matrix6 h = Matrix6WithEigenvalues(values, random);
      h(at, at) = tiny;
      const ChartVector g = RandomVector(random);
      const ChartVector expected = ByEigen(h, g);
      EXPECT_LE((Solve(h, g) - expected).norm(), 1e-8 * expected.norm())
          << "entry " << at << " is " << tiny;
    }
  }
}

TEST(Solve6Test, ASingularSystemHasTheLeastNormSolution) {
  RandomNumbers random(23);
  for (int rank = 1; rank < 6; ++rank) {
    for (int trial = 0; trial < 50; ++trial) {
      // Of that rank to the last bit: zero rows and columns, or sums of integer outer products.
      Matrix6 h = Matrix6::Zero();
      if (trial % 2 == 0) {
        for (int i = 0; i < rank; ++i) {
          for (int j = 0; j <= i; ++j) h(i, j) = h(j, i) = random.Normal();
        }
      } else {
        for (int k = 0; k < rank; ++k) {
          ChartVector v;
          for (double& value : v) value = random.Index(9) - 4;
          h -= v * v.transpose();
        }
      }
      const ChartVector g = RandomVector(random);
      const ChartVector expected = h.completeOrthogonalDecomposition().solve(-g);
      EXPECT_LE((Solve(h, g) - expected).norm(), 1e-8 * std::max(1e-6, expected.norm()))
          << "rank " << rank << ", trial " << trial << "\n"
          << h;
    }
  }
}

TEST(Solve6Test, AZeroMatrixMovesNothing) {
  RandomNumbers random(24);
  EXPECT_TRUE(Solve(Matrix6::Zero(), RandomVector(random)).isZero(0.0));
}

TEST(Solve6Test, AnInputThatIsNotFiniteGivesNoFiniteStepOrNone) {
  Matrix6 h = -Matrix6::Identity();
  h(2, 2) = std::nan("");
  const ChartVector step = Solve(h, ChartVector::Ones());
  EXPECT_TRUE(!step.allFinite() || step.norm() < 10.0);
}

}  // namespace
}  // namespace voxloc::ndt
