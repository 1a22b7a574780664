// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/engine/align.h"

namespace voxloc {
namespace {

TEST(ScanReach, KnowsWhenAScanCannotTouchTheMap) {
  Bounds map;
  map.min = {-10.0, -10.0, 0.0};
  map.max = {10.0, 10.0, 5.0};
  map.finite_points = 100;
  const auto at = [](double x) { return Pose{{x, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; };
  EXPECT_TRUE(CanTouch(map, at(0.0), 1.0, 2.0));
  EXPECT_TRUE(CanTouch(map, at(50.0), 39.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(50.0), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(1e300), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(Bounds(), at(0.0), 30.0, 2.0));
}

TEST(ScanReach, IsTheDistanceOfTheFarthestPoint) {
  PointCloud scan;
  EXPECT_EQ(MaxPointDistance(scan), 0.0);
  scan.PushBack(3.0F, 0.0F, 4.0F);
  scan.PushBack(0.0F, -4.5F, 0.0F);
  EXPECT_DOUBLE_EQ(MaxPointDistance(scan), 5.0);
}

TEST(ScanReach, TheMarginIsTwoCellsOfTheCoarsestStage) {
  Profile profile;
  profile.stages.resize(2);
  profile.stages[0].cells.cell_size_m = 4.0;
  profile.stages[1].cells.cell_size_m = 1.5;
  EXPECT_DOUBLE_EQ(MatchMargin(profile), 8.0);
}

}  // namespace
}  // namespace voxloc
