// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr auto kObserved = AxisObservation::kObserved;
constexpr auto kWeak = AxisObservation::kWeak;
constexpr auto kUnobserved = AxisObservation::kUnobserved;
constexpr DegeneracyLimits kLimits = {/*weak_ratio=*/0.1, /*unobserved_ratio=*/0.001};
using ObservedAxes = std::array<AxisObservation, 6>;

Vector6 Vector(double x, double y, double z, double rx, double ry, double rz) {
  Vector6 v;
  v << x, y, z, rx, ry, rz;
  return v;
}

TEST(DegeneracyTest, EachAxisIsJudgedByItsShareOfTheLargest) {
  // Angles at 2 m: their information counts a quarter.
  const Matrix6 information = Vector(1000.0, 50.0, 0.5, 4000.0, 4.0, 400.0).asDiagonal();
  const Degeneracy degeneracy = AnalyzeDegeneracy(information, 2.0, kLimits);
  const Vector6 expected = Vector(0.5, 1.0, 50.0, 100.0, 1000.0, 1000.0);
  EXPECT_LE((degeneracy.eigenvalues - expected).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_NEAR(degeneracy.condition, 2000.0, 1e-6);
  EXPECT_EQ(degeneracy.rotation_scale_m, 2.0);
  // 1/1000 is still unobserved, 1/10 still weak.
  EXPECT_EQ(degeneracy.axes,
            (ObservedAxes{kObserved, kWeak, kUnobserved, kObserved, kUnobserved, kWeak}));
  EXPECT_TRUE(degeneracy.degenerate());

  // What is below zero is no information.
  const Degeneracy negative =
      AnalyzeDegeneracy(Vector(100, -100, 100, 100, 100, 100).asDiagonal(), 1.0, kLimits);
  EXPECT_EQ(negative.axes,
            (ObservedAxes{kObserved, kUnobserved, kObserved, kObserved, kObserved, kObserved}));
  EXPECT_TRUE(std::isinf(negative.condition));

  const Degeneracy all = AnalyzeDegeneracy(Vector(9, 8, 7, 6, 5, 4).asDiagonal(), 1.0, kLimits);
  EXPECT_EQ(all.axes,
            (ObservedAxes{kObserved, kObserved, kObserved, kObserved, kObserved, kObserved}));
  EXPECT_FALSE(all.degenerate());
  EXPECT_NEAR(all.condition, 9.0 / 4.0, 1e-12);
}

TEST(DegeneracyTest, ACorridorAcrossTheAxesLeavesBothUnobserved) {
  const struct {
    double heading_deg;
    AxisObservation x, y;
  } rows[] = {
      {0.0, kUnobserved, kObserved},
      {90.0, kObserved, kUnobserved},
      {10.0, kUnobserved, kObserved},  // sin^2 = 0.03 of y: little
      {-20.0, kUnobserved, kUnobserved},
  };
  for (const auto& row : rows) {
    const double heading = row.heading_deg * M_PI / 180.0;
    Vector6 along = Vector6::Zero();
    along.head<2>() << std::cos(heading), std::sin(heading);
    const Matrix6 information = 100.0 * (Matrix6::Identity() - along * along.transpose());
    const Degeneracy degeneracy = AnalyzeDegeneracy(information, 1.0, kLimits);
    EXPECT_EQ(degeneracy.axes,
              (ObservedAxes{row.x, row.y, kObserved, kObserved, kObserved, kObserved}))
        << row.heading_deg;
    EXPECT_NEAR(std::abs(degeneracy.eigenvectors.col(0).dot(along)), 1.0, 1e-9);
    EXPECT_GT(degeneracy.condition, 1e12);
  }
}

// An open field: x, y and yaw are free, and their eigenvalues equal, so the solver may choose any
// vectors in their span.
TEST(DegeneracyTest, TheVerdictDoesNotDependOnVectorsWithinASpan) {
  RandomNumbers random(72);
  const int free_axes[] = {0, 1, 5};
  for (int trial = 0; trial < 20; ++trial) {
    // The same span to rounding, with vectors turned inside it.
    const Eigen::Matrix3d turn = random.Orthogonal<3>();
    Matrix6 information = Matrix6::Zero();
    for (int i = 0; i < 3; ++i) {
      information(2 + i, 2 + i) = 100.0;
      Vector6 direction = Vector6::Zero();
      for (int j = 0; j < 3; ++j) direction[free_axes[j]] = turn(j, i);
      information += 1e-6 * (1.0 + 1e-3 * i) * direction * direction.transpose();
    }
    const Degeneracy degeneracy = AnalyzeDegeneracy(information, 1.0, kLimits);
    EXPECT_EQ(degeneracy.axes, (ObservedAxes{kUnobserved, kUnobserved, kObserved, kObserved,
                                             kObserved, kUnobserved}));
  }
}

TEST(DegeneracyTest, EigenvectorsAndValuesMakeUpTheScaledMatrix) {
  RandomNumbers random(73);
  for (int trial = 0; trial < 20; ++trial) {
    Matrix6 information;
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j <= i; ++j) information(i, j) = information(j, i) = random.Normal();
    }
    const double scale_m = random.Uniform(0.5, 30.0);
    const Degeneracy degeneracy = AnalyzeDegeneracy(information, scale_m, kLimits);
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) {
        const double scaled = information(i, j) / (i < 3 ? 1.0 : scale_m) / (j < 3 ? 1.0 : scale_m);
        const double made = degeneracy.eigenvectors.row(i) * degeneracy.eigenvalues.asDiagonal() *
                            degeneracy.eigenvectors.row(j).transpose();
        EXPECT_NEAR(made, scaled, 1e-12);
      }
    }
    for (int k = 1; k < 6; ++k) {
      EXPECT_LE(degeneracy.eigenvalues[k - 1], degeneracy.eigenvalues[k]);
    }
  }
}

TEST(DegeneracyTest, WithoutInformationNothingIsObserved) {
  Matrix6 nan = Matrix6::Identity();
  nan(2, 3) = nan(3, 2) = std::nan("");
  Matrix6 infinite = Matrix6::Identity();
  infinite(0, 0) = std::numeric_limits<double>::infinity();
  for (const Matrix6& information :
       {Matrix6(Matrix6::Zero()), Matrix6(-Matrix6::Identity()), nan, infinite}) {
    const Degeneracy degeneracy = AnalyzeDegeneracy(information, 5.0, kLimits);
    for (const AxisObservation axis : degeneracy.axes) EXPECT_EQ(axis, kUnobserved);
    EXPECT_TRUE(degeneracy.degenerate());
    EXPECT_TRUE(std::isinf(degeneracy.condition));
    EXPECT_TRUE(degeneracy.eigenvalues.allFinite());
    EXPECT_TRUE(degeneracy.eigenvectors.allFinite());
  }
}

}  // namespace
}  // namespace voxloc
