// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxloc::server {
namespace {

TEST(MapBuild, ScalesTheCellsOfEveryStageAlike) {
  auto build = MakeMapBuild({{"precise"}, 1.0});
  ASSERT_TRUE(build.ok());
  auto profile = ProfileOnMap(PreciseProfile(), *build, "m");
  ASSERT_TRUE(profile.ok());
  const Profile own = PreciseProfile();
  const double factor = 1.0 / own.stages[own.score_stage].cells.cell_size_m;
  for (size_t i = 0; i < own.stages.size(); ++i) {
    EXPECT_NEAR(profile->stages[i].cells.cell_size_m, own.stages[i].cells.cell_size_m * factor,
                1e-12);
    // What the profile asks for is among what the map carries, to the bit.
    EXPECT_THAT(build->statistics, ::testing::Contains(profile->stages[i].cells));
  }
  EXPECT_EQ(ProfileOnMap(AutowareProfile(), *build, "m").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeMapBuild({}).value().request.profiles.size(), ProfileNames().size());
  EXPECT_EQ(MakeMapBuild({{"precise", "precise"}, 0.0}).value().request.profiles.size(), 1);
}

}  // namespace
}  // namespace voxloc::server
