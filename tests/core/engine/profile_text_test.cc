// SPDX-License-Identifier: Apache-2.0

#include "core/engine/profile_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/engine/profile_set.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kEveryKey[] = R"(
name: every-key_1.0
stages:
  - cells:
      cell_size_m: 1.5
      min_points: 8
      identity_seed: true
      eigenvalue_ratio: 0.5
      merge_tiles: false
      float_index: true
    search_method: direct7
    point_voxel_m: 0.25
    outlier_ratio: 0.3
    curvature: reweighted
    step_size_m: 2.5
    transformation_epsilon: 1e-3
    step_floor: true
    max_iterations: 7
    line_search: more-thuente
    exact_pitch_curvature: false
    small_angle_shortcut: true
    float_transform: true
    observed_ratio: 0.125
    rotation_scale_m: 6
  - {curvature: reweighted}
score_stage: 1
judged: true
allowed_loss: 0.04
score_type: transform-probability
score_threshold: -3
acceptance_rule: strict
required_distance_m: 5
covariance_method: fixed
independent_points: 12
observed_share: 0.07
regularization_scale_factor: 0.09
score_includes_regularization: true
)";

TEST(ProfileTextTest, EveryKeyIsRead) {
  const absl::StatusOr<Profile> profile = ParseProfile(kEveryKey, "f.yaml");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name, "every-key_1.0");
  ASSERT_EQ(profile->stages.size(), 2u);
  Stage stage;
  stage.cells = {1.5, {8, true, 0.5}, false, true};
  stage.search = NeighborSearch::kDirect7;
  stage.point_voxel_m = 0.25;
  stage.outlier_ratio = 0.3;
  stage.curvature = Curvature::kReweighted;
  stage.max_step = 2.5;
  stage.epsilon = 0.001;
  stage.step_floor = true;
  stage.max_iterations = 7;
  stage.line_search = true;
  stage.exact_pitch_curvature = false;
  stage.small_angle_shortcut = true;
  stage.float_transform = true;
  stage.observed_ratio = 0.125;
  stage.rotation_scale_m = 6.0;
  EXPECT_TRUE(profile->stages[0] == stage);
  // What is not there has its default.
  Stage other;
  other.curvature = Curvature::kReweighted;
  EXPECT_TRUE(profile->stages[1] == other);
  EXPECT_EQ(profile->score_stage, 1u);
  EXPECT_TRUE(profile->judged);
  EXPECT_EQ(profile->allowed_loss, 0.04);
  EXPECT_EQ(profile->acceptance_score, ScoreKind::kTransformProbability);
  EXPECT_EQ(profile->acceptance_threshold, -3.0);
  EXPECT_EQ(profile->acceptance_rule, AcceptanceRule::kStrict);
  EXPECT_EQ(profile->required_distance_m, 5.0);
  EXPECT_TRUE(profile->fixed_covariance);
  EXPECT_EQ(profile->independent_points, 12.0);
  EXPECT_EQ(profile->observed_share, 0.07);
  EXPECT_EQ(profile->regularization_scale, 0.09);
  EXPECT_TRUE(profile->score_includes_regularization);
}

TEST(ProfileTextTest, ThePreciseProfileHasItsNumbers) {
  const Profile profile = PreciseProfile();
  std::vector<double> sizes_m, voxels_m, epsilons;
  for (const Stage& stage : profile.stages) {
    sizes_m.push_back(stage.cells.cell_size_m);
    voxels_m.push_back(stage.point_voxel_m);
    epsilons.push_back(stage.epsilon);
    EXPECT_EQ(stage.curvature, Curvature::kReweighted);
    EXPECT_EQ(stage.max_step, 0.5);
    EXPECT_EQ(stage.max_iterations, 60);
    const bool sharp = sizes_m.size() == 4;
    EXPECT_EQ(stage.cells.gaussian.identity_seed, !sharp);
    EXPECT_EQ(stage.cells.gaussian.eigenvalue_ratio, sharp ? 0.003 : 0.01);
    EXPECT_EQ(stage.outlier_ratio, sharp ? 0.1 : 0.55);
  }
  EXPECT_THAT(sizes_m, ElementsAre(8.0, 4.0, 2.0, 0.5));
  EXPECT_THAT(voxels_m, ElementsAre(1.0, 1.0, 0.0, 0.0));
  EXPECT_THAT(epsilons, ElementsAre(0.02, 0.01, 0.002, 2e-4));
  EXPECT_EQ(profile.score_stage, 2u);
  EXPECT_TRUE(profile.judged);
  EXPECT_EQ(profile.allowed_loss, 0.02);
  EXPECT_EQ(profile.acceptance_rule, AcceptanceRule::kStrict);
  EXPECT_EQ(profile.required_distance_m, 0.0);
  EXPECT_FALSE(profile.fixed_covariance);
  EXPECT_EQ(profile.independent_points, 20.0);
}

TEST(ProfileTextTest, AnErrorNamesTheFileTheLineTheKeyTheValueAndWhatIsAllowed) {
  const std::string head = "name: p\nstages:\n  - ";
  const std::pair<std::string, std::string> cases[] = {
      {head + "{step_size_m: -1}",
       "f.yaml:3: stages[0].step_size_m must be over 0 and at most 100 (got -1)"},
      {head + "{step_size_m: fast}",
       "f.yaml:3: stages[0].step_size_m must be a number (got 'fast')"},
      {head + "{step_size_m: .nan}", "f.yaml:3: stages[0].step_size_m must be"},
      {head + "{max_iterations: 2.5}",
       "f.yaml:3: stages[0].max_iterations must be a whole number (got '2.5')"},
      {head + "{cells: {cell_size_m: 0}}",
       "f.yaml:3: stages[0].cells.cell_size_m must be from 0.01 to 1000 m (got 0)"},
      {head + "{cells: {min_points: -6}}", "stages[0].cells.min_points must be a whole number"},
      {head + "{curvature: newton}",
       "f.yaml:3: stages[0].curvature must be one of exact, reweighted (got 'newton')"},
      {head + "{step_floor: 1}", "f.yaml:3: stages[0].step_floor must be true or false (got '1')"},
      {head + "{step_floor: [true]}", "must be true or false (got a list)"},
      {head + "{step_sise_m: 1}",
       "f.yaml:3: unknown key stages[0].step_sise_m; did you mean step_size_m?"},
      {head + "{cells: {qqqqqqqqqqq: 1}}", "; there are cell_size_m, min_points"},
      {head + "{step_size_m: 1, step_size_m: 2}", "stages[0].step_size_m is there twice"},
      {head + "{cells: 2}", "f.yaml:3: stages[0].cells must be a map of keys to values (got '2')"},
      {head + "{}\nscore_stage: 1", "f.yaml:4: score_stage must be from 0 to 0 (got 1)"},
      {head + "{}\njudge: true", "f.yaml:4: unknown key judge; did you mean judged?"},
      {head + "{}\nindependent_points: 1", "f.yaml: stage 0: the curvature must be reweighted"},
      {head + "{cells: {float_index: true}}", "f.yaml: stage 0: a float32 index is kept per tile"},
      {head + "{point_voxel_m: 0.4}\n  - {point_voxel_m: 0.5}",
       "f.yaml: stage 1: point_voxel_m must be a whole multiple"},
      {head + "only", "f.yaml:3: stages[0] must be a map of keys to values (got 'only')"},
      {"name: p", "f.yaml:1: stages must be a list of maps"},
      {"name: p\nstages: []", "f.yaml:2: stages must be a list of maps (got a list)"},
      {"stages: [{}]", "f.yaml: a profile needs the key name"},
      {"name: a b\nstages: [{}]", "f.yaml:1: name must be a text of 1 to 64 letters"},
      {"name:\nstages: [{}]", "name must be a text of 1 to 64 letters"},
      {"- a", "f.yaml:1: the profile must be a map of keys to values (got a list)"},
      {"", "f.yaml: the profile must be a map of keys to values (got nothing)"},
      {"name: [", "f.yaml:1: not YAML: "},
  };
  for (const auto& [text, says] : cases) {
    const absl::Status status = ParseProfile(text, "f.yaml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says)) << text;
  }
}

TEST(ProfileTextTest, AProfileOfAKnownNameIsNotAdded) {
  ProfileSet profiles;
  Profile own = AutowareProfile();
  EXPECT_THAT(std::string(profiles.Add(own).message()),
              HasSubstr("must differ from autoware, precise (got 'autoware')"));
  own.name = "own";
  EXPECT_TRUE(profiles.Add(own).ok());
  EXPECT_TRUE(profiles.Find("own").ok());
  EXPECT_FALSE(profiles.Add(own).ok());
  EXPECT_THAT(profiles.Names(), ElementsAre("autoware", "precise", "own"));
  EXPECT_THAT(std::string(profiles.Find("sharp").status().message()),
              HasSubstr("one of autoware, precise, own (got 'sharp')"));
}

}  // namespace
}  // namespace voxloc
