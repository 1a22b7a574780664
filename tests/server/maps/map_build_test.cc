// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxloc::server {
namespace {

TEST(MapBuild, ScalesTheCellsOfEveryStageAlike) {
  auto build = MakeMapBuild({{"precise"}, 1.0}, ProfileSet());
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
  const auto twice = MakeMapBuild({{"precise", "precise"}, 0.0}, ProfileSet());
  EXPECT_EQ(twice.value().request.profiles.size(), 1);
}

TEST(MapBuild, CarriesTheCellsOfAllProfilesThatTheServerHas) {
  Profile own = PreciseProfile();
  own.name = "own";
  own.stages[0].cells.cell_size_m = 3.0;
  ProfileSet profiles;
  ASSERT_TRUE(profiles.Add(own).ok());
  const auto build = MakeMapBuild({}, profiles);
  ASSERT_TRUE(build.ok()) << build.status();
  EXPECT_THAT(build->request.profiles, ::testing::ElementsAre("autoware", "own", "precise"));
  EXPECT_THAT(build->statistics, ::testing::Contains(own.stages[0].cells));
  const absl::Status unknown = MakeMapBuild({{"own"}, 0.0}, ProfileSet()).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), ::testing::HasSubstr("one of autoware, precise"));
}

}  // namespace
}  // namespace voxloc::server
