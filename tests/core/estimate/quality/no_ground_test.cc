// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/estimate/quality/scan_shape.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

class NoGroundTest : public EngineTest {
 protected:
  static absl::StatusOr<NoGroundScores> Score(const AlignJob& job, const Pose& map_T_base,
                                              double margin_m) {
    return ScoreWithoutGround(engine(), job, map_T_base, margin_m);
  }

  // Points at these heights, 8 m ahead.
  static AlignJob JobWithHeights(const std::vector<float>& heights) {
    AlignJob job = SceneJob(AutowareProfile());
    auto scan = std::make_shared<PointCloud>();
    for (const float z : heights) scan->PushBack(8.0F, 0.0F, z);
    job.scan = scan;
    return job;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(NoGroundTest);

TEST_P(NoGroundTest, OnlyFinitePointsOverTheMarginAreKept) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const AlignJob job = JobWithHeights({-1.5F, 0.0F, 0.75F, nan, 0.875F, HUGE_VALF, 3.0F});
  Pose level;
  level.translation = {1.0, 2.0, 30.0};
  const auto scores = Score(job, level, 0.75);
  ASSERT_TRUE(scores.ok()) << scores.status();
  // At the margin is not over it.
  EXPECT_EQ(scores->points_base->z, (std::vector<float>{0.875F, 3.0F}));
  EXPECT_EQ(scores->score.points, 2u);
}

TEST_P(NoGroundTest, HeightsAreThoseOfTheMapFrame) {
  const AlignJob job = JobWithHeights({0.0F, 1.5F});
  // Nose up by 10 degrees: 8 m ahead is 1.39 m higher.
  const struct {
    double nose_up_deg, margin_m;
    size_t kept;
  } rows[] = {{10.0, 1.3, 2}, {10.0, 1.45, 1}, {-10.0, 0.8, 0}, {-10.0, -1.4, 2}};
  for (const auto& row : rows) {
    Pose pitched;
    pitched.rotation = RotationFromRosAngles(0.0, -row.nose_up_deg * M_PI / 180.0, 0.3);
    EXPECT_EQ(Score(job, pitched, row.margin_m)->points_base->size(), row.kept) << row.margin_m;
  }
}

TEST_P(NoGroundTest, TheCloudsOriginAndIntensitiesCount) {
  AlignJob job = SceneJob(AutowareProfile());
  auto scan = std::make_shared<PointCloud>();
  scan->origin = {0.0, 0.0, 5.0};
  scan->PushBack(1.0F, 0.0F, -4.9F);
  scan->PushBack(1.0F, 0.0F, -3.0F);
  scan->intensity = {7.0F, 9.0F};
  job.scan = scan;
  const auto scores = Score(job, ScenePose(), 1.0);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->points_base->z, std::vector<float>{-3.0F});
  EXPECT_EQ(scores->points_base->intensity, std::vector<float>{9.0F});
  EXPECT_EQ(scores->points_base->origin, scan->origin);
}

// Sums over the kept points alone, from scores that the engine gave for the whole scan.
TEST_P(NoGroundTest, ScoresAreThoseOfTheKeptPointsUnderTheScoreStage) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    const AlignJob job = SceneJob(profile);
    ScoreRequest request;
    request.map = job.map;
    request.scan = job.scan;
    request.map_T_base = {ScenePose()};
    request.stage = profile.stages[profile.score_stage];
    request.with_point_scores = true;
    const auto whole = engine().Score(request);
    ASSERT_TRUE(whole.ok()) << whole.status();
    double best = 0.0;
    size_t kept = 0;
    size_t matched = 0;
    for (size_t i = 0; i < job.scan->size(); ++i) {
      const Eigen::Vector3d p = ScenePose() * job.scan->Point(i);
      if (!(p.z() - ScenePose().translation.z() > 0.8)) continue;
      ++kept;
      if (whole->point_scores[i] == 0.0F) continue;
      ++matched;
      best += static_cast<double>(whole->point_scores[i]);
    }
    ASSERT_GT(matched, 100u);
    ASSERT_LT(kept, job.scan->size());
    const auto scores = Score(job, ScenePose(), 0.8);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(scores->score.points, kept);
    EXPECT_EQ(scores->points_base->size(), kept);
    EXPECT_NEAR(scores->score.nearest_voxel_likelihood, best / static_cast<double>(matched), 1e-4);
    EXPECT_DOUBLE_EQ(scores->score.transform_probability,
                     scores->score.score / static_cast<double>(kept));
  }
}

TEST_P(NoGroundTest, WithoutAPointOverTheGroundAllScoresAreZero) {
  const auto scores = Score(SceneJob(AutowareProfile()), ScenePose(), 1000.0);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_TRUE(scores->points_base->empty());
  EXPECT_EQ(scores->score.score, 0.0);
  EXPECT_EQ(scores->score.transform_probability, 0.0);
  EXPECT_EQ(scores->score.nearest_voxel_likelihood, 0.0);
  EXPECT_EQ(scores->score.points, 0u);
}

TEST_P(NoGroundTest, BadInputIsRefused) {
  const AlignJob good = SceneJob(AutowareProfile());
  for (const double margin_m : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const absl::Status status = Score(good, ScenePose(), margin_m).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("z_margin_m must be finite"));
  }
  AlignJob no_scan = good;
  no_scan.scan = nullptr;
  AlignJob no_stage = good;
  no_stage.profile.score_stage = 3;
  for (const AlignJob& job : {no_scan, no_stage}) {
    EXPECT_EQ(Score(job, ScenePose(), 0.8).status().code(), absl::StatusCode::kInvalidArgument);
  }
  Pose nan = ScenePose();
  nan.translation.y() = std::nan("");
  EXPECT_EQ(Score(good, nan, 0.8).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc
