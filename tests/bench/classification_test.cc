// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/classification.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

TEST(AreaUnderCurveTest, CountsPairsInOrder) {
  EXPECT_EQ(AreaUnderCurve({{0.1, false}, {0.2, false}, {0.3, true}}), 1.0);
  EXPECT_EQ(AreaUnderCurve({{0.9, false}, {0.2, true}}), 0.0);
  EXPECT_EQ(AreaUnderCurve({{0.5, false}, {0.5, true}}), 0.5);
  // Of six pairs, four are in order and one is equal.
  EXPECT_DOUBLE_EQ(
      AreaUnderCurve({{0.8, true}, {0.3, true}, {0.3, false}, {0.1, false}, {0.5, false}}),
      4.5 / 6.0);
  EXPECT_TRUE(std::isnan(AreaUnderCurve({{0.5, true}})));
}

TEST(ReliabilityTest, WeighsRightAndWrongEqually) {
  // One right one weighs as much as three wrong ones.
  const auto bins = ReliabilityOf({{0.9, true}, {0.9, false}, {0.1, false}, {0.3, false}}, 2);
  ASSERT_EQ(bins.size(), 2U);
  EXPECT_EQ(bins[0].count, 2U);
  EXPECT_NEAR(bins[0].weight, 1.0 / 3.0, 1e-12);
  EXPECT_NEAR(bins[0].value, 0.2, 1e-12);
  EXPECT_EQ(bins[0].right, 0.0);
  EXPECT_NEAR(bins[1].weight, 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(bins[1].right, 0.75, 1e-12);
  EXPECT_NEAR(CalibrationError(bins), 0.2 / 3.0 + 0.15 * 2.0 / 3.0, 1e-12);
}

TEST(ReliabilityTest, TheLargestValueIsInTheLastBin) {
  const auto bins = ReliabilityOf({{1.0, true}, {0.0, false}}, 10);
  EXPECT_EQ(bins[9].count, 1U);
  EXPECT_EQ(bins[0].count, 1U);
  EXPECT_EQ(CalibrationError(bins), 0.0);
}

// Values drawn evenly, each right with the probability that it says.
TEST(ReliabilityTest, ProbabilitiesHaveNearlyNoError) {
  RandomNumbers random(7);
  std::vector<LabeledScore> calibrated;
  std::vector<LabeledScore> overconfident;
  for (int i = 0; i < 20'000; ++i) {
    const double value = random.Uniform(0.0, 1.0);
    const bool right = random.Uniform(0.0, 1.0) < value;
    calibrated.push_back({value, right});
    overconfident.push_back({std::sqrt(value), right});
  }
  // In each bin of 2,000 the share has a standard deviation of at most 0.011.
  EXPECT_LT(CalibrationError(ReliabilityOf(calibrated, 10)), 0.02);
  // The mean of sqrt(x) - x is 1/6.
  EXPECT_NEAR(CalibrationError(ReliabilityOf(overconfident, 10)), 1.0 / 6.0, 0.02);
}

TEST(GateCostTest, CountsBothMistakes) {
  const GateCost cost =
      GateCostOf({{0.5, true}, {0.4, true}, {0.5, false}, {0.1, false}, {0.2, false}}, 0.5);
  EXPECT_EQ(cost.refused_right, 0.5);
  EXPECT_NEAR(cost.accepted_wrong, 1.0 / 3.0, 1e-12);
}

}  // namespace
}  // namespace voxloc::bench
