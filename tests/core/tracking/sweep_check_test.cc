// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/sweep_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// Of a scan of curvature 100 whose points show `share` more motion.
SweepDerivatives PullBy(double share) { return {100.0 * share, 100.0}; }

TEST(SweepCheckTest, ScansCountByWhatTheySay) {
  SweepCheck check;
  EXPECT_EQ(check.Add({10.0, 100.0}).unexplained_motion, 0.1);
  EXPECT_EQ(check.Add({0.0, 900.0}).unexplained_motion, 0.01);
}

// Of scans alike, the standard deviation of their mean.
TEST(SweepCheckTest, SigmaIsThatOfTheMean) {
  RandomNumbers random(3);
  SweepCheck check;
  SweepReport report;
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < 30; ++i) {
    const double share = 0.1 + 0.3 * random.Normal();
    sum += share;
    squares += share * share;
    report = check.Add(PullBy(share));
  }
  const double mean = sum / 30.0;
  EXPECT_NEAR(report.unexplained_motion, mean, 1e-12);
  EXPECT_NEAR(report.sigma, std::sqrt((squares / 30.0 - mean * mean) / 29.0), 1e-12);
  EXPECT_EQ(report.scans, 30U);
}

TEST(SweepCheckTest, SuspectsWhatIsLargeAndSure) {
  const auto report_of = [](double share, double spread, size_t scans) {
    RandomNumbers random(5);
    SweepCheck check;
    SweepReport report;
    for (size_t i = 0; i < scans; ++i) report = check.Add(PullBy(share + spread * random.Normal()));
    return report;
  };
  EXPECT_TRUE(report_of(-1.0, 0.5, 30).suspect);
  EXPECT_TRUE(report_of(0.5, 0.2, 30).suspect);
  EXPECT_FALSE(report_of(0.1, 0.01, 30).suspect) << "sure, and small";
  EXPECT_FALSE(report_of(0.5, 3.0, 30).suspect) << "large, and not sure";
  EXPECT_FALSE(report_of(-1.0, 0.1, kMinSweeps - 1).suspect) << "too few";
  EXPECT_TRUE(report_of(-1.0, 0.1, kMinSweeps).suspect);
}

TEST(SweepCheckTest, LooksBackOnTheLastScansOnly) {
  SweepCheck check;
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(check.Add(PullBy(-1.0)).suspect, i >= 19) << i;
  SweepReport report;
  for (size_t i = 0; i < kSweepWindow; ++i) report = check.Add(PullBy(0.05));
  EXPECT_EQ(report.scans, kSweepWindow);
  EXPECT_NEAR(report.unexplained_motion, 0.05, 1e-12);
  EXPECT_FALSE(report.suspect);
}

TEST(SweepCheckTest, SaysOnceThatItBegins) {
  SweepCheck check;
  int begun = 0;
  for (int i = 0; i < 60; ++i) begun += check.Add(PullBy(-1.0)).newly_suspect ? 1 : 0;
  EXPECT_EQ(begun, 1);
  check.Clear();
  EXPECT_EQ(check.Add(PullBy(-1.0)).scans, 1U);
  for (int i = 0; i < 60; ++i) begun += check.Add(PullBy(-1.0)).newly_suspect ? 1 : 0;
  EXPECT_EQ(begun, 2);
}

TEST(SweepCheckTest, ScansThatSayNothingAreNoGrounds) {
  SweepCheck check;
  for (int i = 0; i < 60; ++i) {
    const SweepReport report = check.Add({0.0, 0.0});
    EXPECT_EQ(report.unexplained_motion, 0.0);
    EXPECT_FALSE(report.suspect);
  }
  SweepCheck broken;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(broken.Add({nan, 1.0}).suspect);
}

}  // namespace
}  // namespace voxloc
