// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/ndt/pose_score.h"

namespace voxloc::ndt {
namespace {

TEST(ScoreFunctionTest, ConstantsAreTheReferencesAtItsOutlierRatio) {
  const struct {
    double cell_size_m;
    double d1;
    double d2;
  } rows[] = {
      {0.5, -0.704446735814, 0.756362730327}, {1.0, -2.217225244043, 0.433123004704},
      {1.5, -3.353883400126, 0.307226936620}, {2.0, -4.196518186951, 0.248478510124},
      {2.5, -4.858578380406, 0.214896583845}, {3.0, -5.402267797595, 0.193051264188},
      {4.0, -6.262705381913, 0.165981591977}, {5.0, -6.931205434899, 0.149546508997},
  };
  for (const auto& row : rows) {
    const ScoreConstants constants = ComputeScoreConstants(0.55, row.cell_size_m);
    EXPECT_NEAR(constants.d1, row.d1, 1e-11) << row.cell_size_m;
    EXPECT_NEAR(constants.d2, row.d2, 1e-11) << row.cell_size_m;
  }
}

// What defines the two constants: the Gaussian meets the mixture -log(c1 e^(-q/2) + c2), less its
// value far away, at the mean and at one sigma.
TEST(ScoreFunctionTest, TheGaussianMeetsTheMixtureAtTheMeanAndAtOneSigma) {
  for (const double outlier_ratio : {0.01, 0.1, 0.55, 0.99}) {
    for (const double size : {0.1, 0.5, 2.0, 100.0}) {
      const ScoreConstants constants = ComputeScoreConstants(outlier_ratio, size);
      const auto mixture = [&](double squared_sigmas) {
        const double inlier = 10.0 * (1.0 - outlier_ratio) * std::exp(-0.5 * squared_sigmas);
        const double outlier = outlier_ratio / (size * size * size);
        return -std::log((inlier + outlier) / outlier);
      };
      EXPECT_NEAR(constants.d1, mixture(0.0), 1e-12 * std::abs(mixture(0.0)) + 1e-14);
      EXPECT_NEAR(constants.d1 * std::exp(-0.5 * constants.d2), mixture(1.0),
                  1e-12 * std::abs(mixture(1.0)) + 1e-14);
      EXPECT_LT(constants.d1, 0.0);
      EXPECT_GT(constants.d2, 0.0);
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
