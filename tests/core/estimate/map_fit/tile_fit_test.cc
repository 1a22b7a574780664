// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/estimate/map_fit/scan_fit.h"

namespace voxloc {
namespace {

// As a scan of a street shows it: most of it low, cars among it.
TileFit StreetWith(double raised_points_against, double raised_solid_against) {
  TileFit fit;
  fit.scans = 1.0;
  fit.points = {1000.0, 200.0};
  fit.solid = {300.0, 60.0};
  fit.raised_points = {400.0, raised_points_against};
  fit.raised_solid = {200.0, raised_solid_against};
  fit.squared_distances_m2 = 800.0 * 0.04 * 0.04;
  return fit;
}

TEST(TileFit, SharesAndResidualAreThoseOfWhatWasSeen) {
  const TileFit fit = StreetWith(0.0, 0.0);
  EXPECT_DOUBLE_EQ(fit.points.ratio(), 0.2);
  EXPECT_DOUBLE_EQ(fit.solid.ratio(), 0.2);
  EXPECT_DOUBLE_EQ(fit.residual_m(), 0.04);
  // What stands as low as cars makes no change.
  EXPECT_EQ(fit.change(), 0.0);
  const TileFit nothing;
  EXPECT_EQ(nothing.points.ratio(), 0.0);
  EXPECT_EQ(nothing.residual_m(), 0.0);
  EXPECT_EQ(nothing.change(), 0.0);
}

TEST(TileFit, ChangeGrowsWithWhatIsGoneAndWithWhatHasCome) {
  const double gone = StreetWith(0.0, 100.0).change();
  const double come = StreetWith(200.0, 0.0).change();
  const double both = StreetWith(200.0, 100.0).change();
  EXPECT_GT(gone, 0.4);
  EXPECT_GT(come, 0.3);
  EXPECT_GT(both, gone);
  EXPECT_GT(both, come);
  EXPECT_LT(both, 1.0);
}

TEST(TileFit, AFewContradictionsWeighLessThanManyOfTheSameShare) {
  TileFit few = StreetWith(200.0, 100.0);
  few.Scale(0.01);
  EXPECT_LT(few.change(), 0.2 * StreetWith(200.0, 100.0).change());
}

TEST(TileFit, ScansAddUpAndAreForgotten) {
  TileFit fit = StreetWith(40.0, 20.0);
  fit.Add(StreetWith(0.0, 0.0));
  EXPECT_EQ(fit.scans, 2.0);
  EXPECT_EQ(fit.points.all, 2000.0);
  EXPECT_EQ(fit.raised_points.mismatched, 40.0);
  EXPECT_EQ(fit.raised_solid.all, 400.0);
  EXPECT_DOUBLE_EQ(fit.residual_m(), 0.04);
  fit.Scale(0.5);
  EXPECT_EQ(fit.scans, 1.0);
  EXPECT_EQ(fit.solid.mismatched, 60.0);
  EXPECT_DOUBLE_EQ(fit.residual_m(), 0.04);
}

// Half of what is remembered after a change comes from the 22 scans that follow it.
TEST(TileFit, AChangeTakesOverWithinTwentyTwoScans) {
  TileFit fit;
  for (int i = 0; i < 1000; ++i) {
    fit.Scale(DecayPerScan());
    fit.Add(StreetWith(0.0, 0.0));
  }
  EXPECT_NEAR(fit.scans, 32.0, 1e-9);
  for (int i = 0; i < 22; ++i) {
    fit.Scale(DecayPerScan());
    fit.Add(StreetWith(0.0, 200.0));
  }
  EXPECT_NEAR(fit.raised_solid.ratio(), 0.5, 0.01);
}

TEST(TileFit, TimeForgetsHalfInThreeWeeks) {
  constexpr double kDayS = 24.0 * 3600.0;
  EXPECT_EQ(DecayAfter(0.0), 1.0);
  EXPECT_NEAR(DecayAfter(30.0 * std::log(2.0) * kDayS), 0.5, 1e-12);
  EXPECT_EQ(DecayAfter(-kDayS), 1.0);
}

}  // namespace
}  // namespace voxloc
