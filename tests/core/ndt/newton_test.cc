// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/newton.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace voxloc::ndt {
namespace {

Derivatives Diagonal(double curvature, double slope_x) {
  Derivatives d;
  for (int i = 0; i < 6; ++i) d.hessian.m[i][i] = curvature;
  d.gradient[0] = slope_x;
  return d;
}

TEST(NewtonTest, TheStepLeadsUphillAlsoFromTowardsAMinimum) {
  for (const double curvature : {-4.0, 4.0}) {
    const NewtonDirection direction = ComputeNewtonDirection(Diagonal(curvature, 2.0));
    EXPECT_DOUBLE_EQ(direction.norm, 0.5);
    EXPECT_DOUBLE_EQ(direction.unit[0], 1.0);
    EXPECT_DOUBLE_EQ(direction.slope, -2.0);
    EXPECT_EQ(direction.reversed, curvature > 0.0);
  }
}

TEST(NewtonTest, NoGradientIsNoStep) {
  EXPECT_EQ(ComputeNewtonDirection(Diagonal(-4.0, 0.0)).norm, 0.0);
  EXPECT_EQ(ComputeNewtonDirection(Diagonal(0.0, 0.0)).norm, 0.0);
}

TEST(NewtonTest, StepsAreClampedFromBothSides) {
  const struct {
    double norm, min_step, max_step, expected;
  } rows[] = {
      {0.05, 0.005, 0.1, 0.05}, {0.5, 0.005, 0.1, 0.1}, {0.001, 0.005, 0.1, 0.005},
      {0.001, 0.0, 0.1, 0.001}, {0.5, 0.2, 0.1, 0.2},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ClampStepLength(row.norm, row.min_step, row.max_step), row.expected);
  }
}

TEST(NewtonTest, OneEntryThatIsNotFiniteIsSeen) {
  EXPECT_TRUE(IsFinite(Diagonal(-4.0, 2.0)));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    Derivatives score = Diagonal(-4.0, 2.0);
    score.score = bad;
    EXPECT_FALSE(IsFinite(score));
    Derivatives gradient = Diagonal(-4.0, 2.0);
    gradient.gradient[5] = bad;
    EXPECT_FALSE(IsFinite(gradient));
    Derivatives hessian = Diagonal(-4.0, 2.0);
    hessian.hessian.m[5][4] = bad;
    EXPECT_FALSE(IsFinite(hessian));
  }
}

}  // namespace
}  // namespace voxloc::ndt
