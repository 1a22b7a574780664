// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/growth.h"

#include <gtest/gtest.h>

namespace voxloc::chaos {
namespace {

// A line with a third of the samples far off, as peaks are.
std::vector<TimedValue> LineWithPeaks(double per_second) {
  std::vector<TimedValue> samples;
  for (int i = 0; i < 60; ++i) {
    const double peak = i % 10 < 3 ? 500.0 : 0.0;
    samples.push_back({10.0 * i, 1000.0 + per_second * 10.0 * i + peak});
  }
  return samples;
}

TEST(Growth, IsTheSlopeWhateverThePeaks) {
  EXPECT_NEAR(TheilSenSlope(LineWithPeaks(0.5)), 0.5, 0.2);
  EXPECT_NEAR(TheilSenSlope(LineWithPeaks(0.0)), 0.0, 1e-9);
  EXPECT_EQ(TheilSenSlope({{1.0, 7.0}}), 0.0);
  EXPECT_EQ(TheilSenSlope({}), 0.0);
}

TEST(Growth, IsJudgedAfterTheWarmUpAgainstTheLargerAllowance) {
  std::vector<TimedValue> samples;
  for (int i = 0; i <= 100; ++i) {
    samples.push_back({1.0 * i, i < 20 ? 50.0 * i : 1000.0 + (i - 20)});
  }
  const Growth growth = JudgeGrowth(samples, 20.0, 0.05, 10.0);
  EXPECT_NEAR(growth.over_run, 80.0, 1e-6);
  EXPECT_NEAR(growth.per_hour, 3600.0, 1e-6);
  EXPECT_NEAR(growth.allowed, 0.05 * 1040.0, 1e-6);
  EXPECT_NEAR(growth.first, 1009.5, 1e-6);
  EXPECT_TRUE(growth.grows);
  EXPECT_FALSE(JudgeGrowth(samples, 20.0, 0.05, 100.0).grows);
  EXPECT_FALSE(JudgeGrowth(samples, 1000.0, 0.05, 0.0).grows);
}

}  // namespace
}  // namespace voxloc::chaos
