// SPDX-License-Identifier: Apache-2.0
//
// Whole alignments on the synthetic scene.

#include "core/engine/align.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/trace_check.h"

namespace voxloc {
namespace {

int CountReversals(const AlignResult& result) {
  int reversals = 0;
  for (const IterationTrace& trace : result.trace) reversals += trace.reversed ? 1 : 0;
  return reversals;
}

class AlignTest : public EngineTest {
 protected:
  static std::vector<AlignJob> PerturbedJobs(const Profile& profile) {
    return PerturbedSceneJobs(SceneJob(profile));
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(AlignTest);

TEST_P(AlignTest, BothProfilesConvergeFromHalfAMetreAndTwoDegrees) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    const double limit_m = profile.name == "precise" ? 0.005 : 0.02;
    int reversals = 0;
    for (const AlignResult& result : engine().Align(PerturbedJobs(profile))) {
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(result.termination, Termination::kConverged);
      EXPECT_FALSE(result.reached_iteration_limit);
      EXPECT_EQ(Judge(result, profile), Acceptance::kAccepted)
          << result.after.nearest_voxel_likelihood;
      EXPECT_GT(result.after.score, 0.0);
      EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), limit_m);
      EXPECT_LE(RotationDistance(result.map_T_base, ScenePose()), 0.2 * kRadiansPerDegree);
      ExpectConsistentTrace(result, profile);
      reversals += CountReversals(result);
      EXPECT_EQ(result.trace.back().stage, static_cast<int>(profile.stages.size()) - 1);
    }
    // The reweighted curvature never points downhill.
    if (profile.name == "precise") {
      EXPECT_EQ(reversals, 0);
    }
  }
}

TEST_P(AlignTest, ALineSearchConvergesToo) {
  Profile profile = AutowareProfile();
  profile.stages[0].line_search = true;
  for (const AlignResult& result : engine().Align(PerturbedJobs(profile))) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kConverged);
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.03);
    EXPECT_GE(result.evaluations, result.iterations + 1);
    for (const IterationTrace& trace : result.trace) {
      EXPECT_LE(trace.step_length, profile.stages[0].max_step);
    }
  }
}

TEST_P(AlignTest, FarStartsOfTheExactCurvatureAreTurnedRound) {
  Profile profile = AutowareProfile();
  int reversals = 0;
  std::vector<AlignJob> jobs = PerturbedJobs(profile);
  for (AlignJob& job : jobs) {
    job.map_T_base_guess = Displaced(job.map_T_base_guess, {3.0, 2.0, 0.8}, 0.2);
  }
  for (const AlignResult& result : engine().Align(jobs)) {
    ExpectConsistentTrace(result, profile);
    reversals += CountReversals(result);
  }
  EXPECT_GT(reversals, 0);
}

TEST_P(AlignTest, TraceAndPointScoresComeOnlyWhenWanted) {
  // In one batch with jobs that want them.
  std::vector<AlignJob> jobs(4, SceneJob(AutowareProfile()));
  jobs[1].with_trace = true;
  jobs[2].with_point_scores = true;
  jobs[3].with_trace = jobs[3].with_point_scores = true;
  const std::vector<AlignResult> results = engine().Align(jobs);
  ASSERT_EQ(results.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(results[i].status.ok()) << results[i].status;
    EXPECT_EQ(results[i].trace.empty(), !jobs[i].with_trace);
    EXPECT_EQ(results[i].point_scores.empty(), !jobs[i].with_point_scores);
    EXPECT_EQ(results[i].map_T_base.translation, results[0].map_T_base.translation);
  }
  const AlignResult& scored = results[2];
  ASSERT_EQ(scored.point_scores.size(), jobs[2].scan->size());
  double sum = 0.0;
  size_t matched = 0;
  for (const float score : scored.point_scores) {
    sum += static_cast<double>(score);
    matched += score > 0.0F ? 1 : 0;
  }
  EXPECT_LE(matched, scored.after.matched_points);
  EXPECT_NEAR(sum / static_cast<double>(scored.after.matched_points),
              scored.after.nearest_voxel_likelihood, 1e-5);
}

TEST_P(AlignTest, NothingToMatchEndsWithAZeroStep) {
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess.translation.x() += 500.0;
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.termination, Termination::kZeroStep);
  EXPECT_EQ(result.after.matched_points, 0u);
  EXPECT_EQ(result.after.pairs, 0u);
  EXPECT_EQ(result.after.score, 0.0);
  EXPECT_EQ(result.after.nearest_voxel_likelihood, 0.0);
  EXPECT_EQ(result.after.points, job.scan->size());
  EXPECT_EQ(result.iterations, 0);
  EXPECT_LE(TranslationDistance(result.map_T_base, job.map_T_base_guess), 1e-12);
  EXPECT_EQ(Judge(result, job.profile), Acceptance::kLowScore);
}

TEST_P(AlignTest, TheIterationLimitIsReported) {
  AlignJob job = PerturbedJobs(AutowareProfile())[0];
  job.profile.stages[0].max_iterations = 2;
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok());
  EXPECT_EQ(result.termination, Termination::kMaxIterations);
  EXPECT_TRUE(result.reached_iteration_limit);
  EXPECT_EQ(result.iterations, 2);
  EXPECT_EQ(result.evaluations, 3);
  EXPECT_EQ(Judge(result, job.profile), Acceptance::kNotConverged);
}

// Alone and between jobs that go on.
TEST_P(AlignTest, ARaisedStopTokenEndsItsOwnJobOnly) {
  for (const bool by_deadline : {false, true}) {
    std::vector<AlignJob> jobs = PerturbedJobs(PreciseProfile());
    const std::vector<AlignResult> expected = engine().Align(jobs);
    for (const size_t i : {size_t{0}, size_t{3}}) {
      if (by_deadline) {
        jobs[i].stop.deadline = absl::InfinitePast();
      } else {
        jobs[i].stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
      }
    }
    std::vector<AlignResult> results = engine().Align(jobs);
    results.push_back(AlignOne(engine(), jobs[0]));
    ASSERT_EQ(results.size(), 9u);
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(i);
      const AlignResult& result = results[i];
      ASSERT_TRUE(result.status.ok()) << result.status;
      if (i == 0 || i == 3 || i == 8) {
        EXPECT_EQ(result.termination,
                  by_deadline ? Termination::kDeadline : Termination::kCancelled);
        EXPECT_EQ(result.iterations, 0);
        EXPECT_LE(TranslationDistance(result.map_T_base, jobs[i % 8].map_T_base_guess), 1e-12);
        EXPECT_EQ(Judge(result, jobs[i % 8].profile), Acceptance::kNotConverged);
      } else {
        EXPECT_EQ(result.map_T_base.translation, expected[i].map_T_base.translation);
        EXPECT_EQ(result.iterations, expected[i].iterations);
      }
    }
  }
}

}  // namespace
}  // namespace voxloc
