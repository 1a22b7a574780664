// SPDX-License-Identifier: Apache-2.0

#include "core/engine/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/engine/profile_set.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfileTest, BuiltInProfilesAreFoundByNameAndValid) {
  const ProfileSet profiles;
  EXPECT_THAT(profiles.Names(), ElementsAre("autoware", "precise"));
  for (const std::string& name : profiles.Names()) {
    const absl::StatusOr<Profile> profile = profiles.Find(name);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->name, name);
    EXPECT_TRUE(ValidateProfile(*profile).ok()) << ValidateProfile(*profile);
  }
  const absl::Status unknown = profiles.Find("sharp").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("autoware, precise"));
}

TEST(ProfileTest, TheAutowareProfileHasTheReferencesNumbers) {
  const Profile profile = AutowareProfile();
  ASSERT_EQ(profile.stages.size(), 1u);
  const Stage& stage = profile.stages[0];
  EXPECT_EQ(stage.cells.cell_size_m, 2.0);
  EXPECT_EQ(stage.cells.gaussian.min_points, 6u);
  EXPECT_TRUE(stage.cells.gaussian.identity_seed);
  EXPECT_EQ(stage.cells.gaussian.eigenvalue_ratio, 0.01);
  EXPECT_FALSE(stage.cells.merge_tiles);
  EXPECT_TRUE(stage.cells.float_index);
  EXPECT_EQ(stage.outlier_ratio, 0.55);
  EXPECT_EQ(stage.max_step, 0.1);
  EXPECT_EQ(stage.epsilon, 0.01);
  EXPECT_TRUE(stage.step_floor);
  EXPECT_EQ(stage.max_iterations, 30);
  EXPECT_EQ(stage.observed_ratio, 0.0);
  EXPECT_TRUE(stage.small_angle_shortcut);
  EXPECT_TRUE(profile.score_includes_regularization);
  EXPECT_EQ(profile.regularization_scale, 0.01);
  EXPECT_EQ(profile.acceptance_score, ScoreKind::kNearestVoxelLikelihood);
  EXPECT_EQ(profile.acceptance_threshold, 2.3);
}

TEST(ProfileTest, RequiredStatisticsComeOnceEach) {
  const std::vector<CellStatistics> twice =
      RequiredStatistics({AutowareProfile(), PreciseProfile(), AutowareProfile()});
  EXPECT_EQ(twice.size(), RequiredStatistics({AutowareProfile(), PreciseProfile()}).size());
  EXPECT_TRUE(twice[0] == AutowareProfile().stages[0].cells);
  for (const Stage& stage : PreciseProfile().stages) {
    EXPECT_EQ(std::count(twice.begin(), twice.end(), stage.cells), 1);
  }
  EXPECT_TRUE(RequiredStatistics({}).empty());
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void ExpectRefused(const std::function<void(Profile&)>& change, const std::string& named) {
  Profile profile = PreciseProfile();
  change(profile);
  const absl::Status status = ValidateProfile(profile);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << named;
  EXPECT_THAT(std::string(status.message()), HasSubstr(named));
}

TEST(ProfileTest, AbsurdValuesAreRefusedByName) {
  ExpectRefused([](Profile& p) { p.stages[1].cells.cell_size_m = kInfinity; }, "cell size");
  const struct {
    double Stage::*member;
    std::vector<double> values;
    std::string name;
  } rows[] = {
      {&Stage::outlier_ratio, {0.0, 1.0, -0.5, 7.0, kNaN}, "outlier_ratio"},
      {&Stage::max_step, {0.0, -0.1, 1e9, kNaN, kInfinity}, "step_size_m"},
      {&Stage::epsilon, {-1e-9, 1e9, kNaN, kInfinity}, "transformation_epsilon"},
      {&Stage::observed_ratio, {-1e-9, 1.0, kNaN, kInfinity}, "observed_ratio"},
      {&Stage::rotation_scale_m, {0.001, -3.0, 1e9, kNaN, kInfinity}, "rotation_scale_m"},
  };
  for (const auto& row : rows) {
    for (const double value : row.values) {
      ExpectRefused([&](Profile& p) { p.stages[2].*row.member = value; }, "stage 2: " + row.name);
    }
  }
  for (const int value : {0, -1, 1'000'000'000}) {
    ExpectRefused([=](Profile& p) { p.stages[0].max_iterations = value; }, "max_iterations");
  }
  for (const double value : {-1.0, 1e9, kNaN, kInfinity}) {
    ExpectRefused([=](Profile& p) { p.regularization_scale = value; }, "regularization_scale");
  }
  for (const double value : {kNaN, kInfinity, -kInfinity}) {
    ExpectRefused([=](Profile& p) { p.acceptance_threshold = value; }, "score_threshold");
  }
  ExpectRefused([](Profile& p) { p.score_stage = p.stages.size(); }, "score_stage");
  ExpectRefused([](Profile& p) { p.stages.clear(); }, "(got 0)");
  ExpectRefused([](Profile& p) { p.stages.resize(9, p.stages[0]); }, "(got 9)");
}

TEST(ProfileTest, ValuesAtTheLimitsAreAllowed) {
  Profile profile = AutowareProfile();
  profile.stages.resize(8, profile.stages[0]);
  profile.stages[0].epsilon = 0.0;
  profile.stages[0].max_iterations = 1000;
  profile.stages[1].observed_ratio = 0.999;
  profile.stages[1].rotation_scale_m = 0.01;
  profile.stages[0].cells.gaussian.eigenvalue_ratio = 1.0;
  profile.regularization_scale = 0.0;
  EXPECT_TRUE(ValidateProfile(profile).ok()) << ValidateProfile(profile);
}

}  // namespace
}  // namespace voxloc
