// SPDX-License-Identifier: Apache-2.0
//
// Scoring many poses.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/engine/align.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

class ScoreTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(ScoreTest);

TEST_P(ScoreTest, EveryPoseAndEveryPointIsScoredAsByBruteForce) {
  for (const Stage& stage : {AutowareProfile().stages[0], PreciseProfile().stages.back()}) {
    ScoreRequest request = SceneScoreRequest(stage, 6);
    request.with_point_scores = true;
    const auto result = engine().Score(request);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->poses.size(), 6u);
    ASSERT_EQ(result->point_scores.size(), 6u * request.scan->size());
    const std::vector<MapCell> cells = AllCells(*request.map, stage.cells);
    Deviations largest;
    for (size_t i = 0; i < 6; ++i) {
      const reference::Evaluation expected =
          reference::Evaluate(cells, *request.scan, ChartFromPose(request.map_T_base[i]), stage);
      ExpectScoresAgree(result->poses[i], expected, 1e-5, largest);
      const double peak =
          -reference::ScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m).d1;
      for (size_t p = 0; p < request.scan->size(); ++p) {
        const auto score = static_cast<double>(result->point_scores[i * request.scan->size() + p]);
        EXPECT_NEAR(score, expected.best[p], 2e-4 * peak);
      }
    }
  }
}

TEST_P(ScoreTest, AnAlignmentsScoreIsThatOfItsPose) {
  AlignJob job = SceneJob(AutowareProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.2, 0.1, 0.0}, 0.01);
  job.with_point_scores = true;
  const AlignResult aligned = AlignOne(engine(), job);
  ASSERT_TRUE(aligned.status.ok());
  ScoreRequest request = SceneScoreRequest(job.profile.stages.back(), 0);
  request.map_T_base = {aligned.map_T_base};
  request.with_point_scores = true;
  const auto scored = engine().Score(request);
  ASSERT_TRUE(scored.ok());
  EXPECT_NEAR(scored->poses[0].score, aligned.after.score, 1e-6 * aligned.after.score);
  EXPECT_NEAR(scored->poses[0].nearest_voxel_likelihood, aligned.after.nearest_voxel_likelihood,
              1e-6);
  EXPECT_EQ(scored->poses[0].pairs, aligned.after.pairs);
  // The search's own coordinates are had from a pose to the last bits only.
  ASSERT_EQ(scored->point_scores.size(), aligned.point_scores.size());
  for (size_t i = 0; i < aligned.point_scores.size(); ++i) {
    EXPECT_NEAR(scored->point_scores[i], aligned.point_scores[i], 1e-4F) << i;
  }
}

TEST_P(ScoreTest, ScoresDoNotDependOnThreadsOrCompany) {
  const auto none = engine().Score(SceneScoreRequest(AutowareProfile().stages[0], 0));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE(none->poses.empty() && none->point_scores.empty());
  // So many that blocks of the CUDA engine score several poses each.
  const ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 1603);
  const auto together = engine().Score(request);
  ASSERT_TRUE(together.ok());
  for (const size_t i : {0, 17, 39, 800, 1599, 1602}) {
    ScoreRequest alone = request;
    alone.map_T_base = {request.map_T_base[i]};
    const auto result = engine().Score(alone);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->poses[0].score, together->poses[i].score);
    EXPECT_EQ(result->poses[0].nearest_voxel_likelihood,
              together->poses[i].nearest_voxel_likelihood);
    EXPECT_EQ(result->poses[0].pairs, together->poses[i].pairs);
    EXPECT_EQ(result->poses[0].matched_points, together->poses[i].matched_points);
  }
}

TEST_P(ScoreTest, AStopTokenEndsIt) {
  ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 40);
  request.stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
  EXPECT_EQ(engine().Score(request).status(), absl::CancelledError("scoring was cancelled"));
  request.stop.cancelled = nullptr;
  request.stop.deadline = absl::InfinitePast();
  EXPECT_EQ(engine().Score(request).status(),
            absl::DeadlineExceededError("the deadline passed while scoring"));
}

TEST_P(ScoreTest, WhatCannotBeScoredIsAnError) {
  const ScoreRequest good = SceneScoreRequest(AutowareProfile().stages[0], 2);
  const auto code = [&](auto&& change) {
    ScoreRequest request = good;
    change(request);
    return engine().Score(request).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code([](ScoreRequest& r) { r.scan = nullptr; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.scan = std::make_shared<PointCloud>(); }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) {
              auto scan = std::make_shared<PointCloud>();
              scan->PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
              r.scan = scan;
            }),
            invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.map_T_base[1].translation.z() = HUGE_VAL; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.outlier_ratio = 0.0; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.cells.cell_size_m = -1.0; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.map = nullptr; }), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.cells.cell_size_m = 3.0; }),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace voxloc
