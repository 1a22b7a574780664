// SPDX-License-Identifier: Apache-2.0
//
// The Newton step that keeps to the directions that are observed.

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/ndt/newton.h"
#include "tests/support/random_numbers.h"

namespace voxloc::ndt {
namespace {

Derivatives ToDerivatives(const Matrix6& hessian, const ChartVector& gradient) {
  Derivatives derivatives;
  for (int i = 0; i < 6; ++i) {
    derivatives.gradient[i] = gradient[i];
    for (int j = 0; j < 6; ++j) derivatives.hessian.m[i][j] = hessian(i, j);
  }
  return derivatives;
}

ChartVector Solve(const Matrix6& hessian, const ChartVector& gradient,
                  const ObservedDirections& observed) {
  const Derivatives derivatives = ToDerivatives(hessian, gradient);
  double step[6];
  SolveNewtonStep(derivatives.hessian, derivatives.gradient, step, observed);
  return Eigen::Map<const ChartVector>(step);
}

ChartVector Vector(double x, double y, double z, double roll, double pitch, double yaw) {
  ChartVector v;
  v << x, y, z, roll, pitch, yaw;
  return v;
}

TEST(ObservedDirectionsTest, ADirectionCurvedTheWrongWayIsClimbed) {
  const Matrix6 hessian = Matrix6(Vector(-100, 80, -100, -1e4, -1e4, -1e4).asDiagonal());
  const ChartVector gradient = Vector(1, 8, 1, 1, 1, 1);
  EXPECT_DOUBLE_EQ(Solve(hessian, gradient, {0.01, 10.0})[1], 0.1);
  const NewtonDirection direction =
      ComputeNewtonDirection(ToDerivatives(hessian, gradient), {0.01, 10.0});
  EXPECT_FALSE(direction.reversed);
  EXPECT_LT(direction.slope, 0.0);
}

TEST(ObservedDirectionsTest, WithoutAnyCurvatureThereIsNoStep) {
  EXPECT_TRUE(Solve(Matrix6::Zero(), Vector(1, 1, 1, 1, 1, 1), {0.01, 10.0}).isZero(0.0));
}

// Against Eigen's decomposition, in axes of no preferred direction.
TEST(ObservedDirectionsTest, TheStepIsThatOfTheObservedSubspace) {
  RandomNumbers random(26);
  int partial = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const double scale_m = random.Uniform(0.5, 50.0);
    const double ratio = std::pow(10.0, random.Uniform(-3.0, -0.5));
    ChartVector values;
    for (double& value : values) {
      value = std::pow(10.0, random.Uniform(-4.0, 2.0)) * (random.Index(5) == 0 ? 1.0 : -1.0);
    }
    const Matrix6 axes = random.Orthogonal<6>();
    ChartVector to_scaled = ChartVector::Ones();
    to_scaled.tail<3>().setConstant(scale_m);
    Matrix6 hessian = to_scaled.asDiagonal() * axes * values.asDiagonal() * axes.transpose() *
                      to_scaled.asDiagonal();
    hessian = (0.5 * (hessian + hessian.transpose())).eval();
    ChartVector gradient;
    for (double& value : gradient) value = random.Normal();

    const ChartVector from_scaled = to_scaled.cwiseInverse();
    const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(
        Matrix6(from_scaled.asDiagonal() * hessian * from_scaled.asDiagonal()));
    ChartVector expected = ChartVector::Zero();
    const ChartVector sizes = eigen.eigenvalues().cwiseAbs();
    int taken = 0;
    for (int k = 0; k < 6; ++k) {
      if (!(sizes[k] > ratio * sizes.maxCoeff())) continue;
      ++taken;
      const ChartVector along = from_scaled.cwiseProduct(eigen.eigenvectors().col(k));
      expected += along * along.dot(gradient) / sizes[k];
    }
    partial += taken < 6 ? 1 : 0;
    EXPECT_LE((Solve(hessian, gradient, {ratio, scale_m}) - expected).norm(),
              1e-8 * (expected.norm() + 1e-9))
        << values.transpose();
  }
  EXPECT_GT(partial, 100);
}

TEST(ObservedDirectionsTest, ATinyShareLeavesAWellObservedStepAsItIs) {
  RandomNumbers random(27);
  for (int trial = 0; trial < 50; ++trial) {
    ChartVector values;
    for (double& value : values) value = -random.Uniform(0.5, 20.0);
    const Matrix6 axes = random.Orthogonal<6>();
    Matrix6 hessian = axes * values.asDiagonal() * axes.transpose();
    hessian = (0.5 * (hessian + hessian.transpose())).eval();
    ChartVector gradient;
    for (double& value : gradient) value = random.Normal();
    const ChartVector normal = Solve(hessian, gradient, {});
    EXPECT_LE((Solve(hessian, gradient, {1e-9, 10.0}) - normal).norm(), 1e-10 * normal.norm());
  }
}

TEST(ObservedDirectionsTest, AnInputThatIsNotFiniteGivesNoFiniteStepOrNone) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Matrix6 hessian = -Matrix6::Identity();
    hessian(2, 2) = bad;
    const ChartVector step = Solve(hessian, ChartVector::Ones(), {0.01, 10.0});
    EXPECT_TRUE(!step.allFinite() || step.norm() < 10.0) << step.transpose();
  }
}

}  // namespace
}  // namespace voxloc::ndt
