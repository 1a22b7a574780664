// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/ndt/evaluation.h"
#include "tests/support/random_numbers.h"

namespace voxloc::ndt {
namespace {

// The weighted squared distance to the reference, along the heading.
double ScoreAt(double reference_x, double reference_y, const double (&chart)[6], double weight) {
  const Eigen::Vector2d heading(std::cos(chart[5]), std::sin(chart[5]));
  const Eigen::Vector2d gap(reference_x - chart[0], reference_y - chart[1]);
  return -weight * std::pow(gap.dot(heading), 2);
}

TEST(RegularizationTest, DerivativesAlongXAndYMatchDifferencesAndNoOthersAreTouched) {
  RandomNumbers random(7);
  for (int trial = 0; trial < 100; ++trial) {
    double chart[6];
    for (double& value : chart) value = random.Uniform(-3.0, 3.0);
    const double reference_x = random.Uniform(-5.0, 5.0);
    const double reference_y = random.Uniform(-5.0, 5.0);
    const double weight = random.Uniform(0.1, 100.0);

    Derivatives derivatives;
    derivatives.score = 3.0;
    for (int i = 0; i < 6; ++i) {
      derivatives.gradient[i] = 1.0 + i;
      for (int j = 0; j < 6; ++j) derivatives.hessian.m[i][j] = 10.0 * i + j;
    }
    const double added = AddRegularization(reference_x, reference_y, chart, weight, derivatives);

    const auto moved = [&](double dx, double dy) {
      double at[6];
      for (int i = 0; i < 6; ++i) at[i] = chart[i];
      at[0] += dx;
      at[1] += dy;
      return ScoreAt(reference_x, reference_y, at, weight);
    };
    // The score is a quadratic: differences of any step are exact.
    constexpr double kStep = 0.5;
    const double gradient[2] = {(moved(kStep, 0) - moved(-kStep, 0)) / (2 * kStep),
                                (moved(0, kStep) - moved(0, -kStep)) / (2 * kStep)};
    const double mixed = (moved(kStep, kStep) - moved(kStep, -kStep) - moved(-kStep, kStep) +
                          moved(-kStep, -kStep)) /
                         (4 * kStep * kStep);
    const double hessian[2][2] = {
        {(moved(kStep, 0) - 2 * moved(0, 0) + moved(-kStep, 0)) / (kStep * kStep), mixed},
        {mixed, (moved(0, kStep) - 2 * moved(0, 0) + moved(0, -kStep)) / (kStep * kStep)}};

    const double tolerance = 1e-10 * weight * 100.0;
    EXPECT_NEAR(added, moved(0, 0), tolerance);
    EXPECT_NEAR(derivatives.score, 3.0 + moved(0, 0), tolerance);
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(derivatives.gradient[i], 1.0 + i + (i < 2 ? gradient[i] : 0.0),
                  i < 2 ? tolerance : 0.0);
      for (int j = 0; j < 6; ++j) {
        const bool planar = i < 2 && j < 2;
        EXPECT_NEAR(derivatives.hessian.m[i][j], 10.0 * i + j + (planar ? hessian[i][j] : 0.0),
                    planar ? tolerance : 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
