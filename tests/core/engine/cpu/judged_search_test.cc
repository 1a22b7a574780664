// SPDX-License-Identifier: Apache-2.0
//
// The judgement of stages, on paraboloids made for it in place of a scan.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/cpu/newton_search.h"

namespace voxloc {
namespace {

constexpr double kHighest = 100.0;

// Every stage has a peak along x that it climbs to in one step. What the score stage says of a pose
// is kHighest at its own peak, and 1 less for every metre.
class PeaksEvaluator : public PoseEvaluator {
 public:
  PeaksEvaluator(std::vector<double> peaks_m, size_t score_stage)
      : peaks_m_(std::move(peaks_m)), score_stage_(score_stage) {}

  void BeginStage(size_t stage) override { stage_ = stage; }

  Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
    calls.push_back({stage_, chart[0], all_points});
    Evaluation evaluation;
    const double to_peak = peaks_m_[stage_] - chart[0];
    evaluation.derivatives.score = -0.5 * to_peak * to_peak;
    evaluation.derivatives.gradient[0] = to_peak;
    for (int i = 0; i < 6; ++i) evaluation.derivatives.hessian.m[i][i] = -1.0;
    evaluation.score.points = evaluation.score.matched_points = 10;
    evaluation.score.nearest_voxel_likelihood =
        (kHighest - std::abs(peaks_m_[score_stage_] - chart[0])) / 10.0;
    return evaluation;
  }

  struct Call {
    size_t stage;
    double x_m;
    bool all_points;
  };
  std::vector<Call> calls;

 private:
  const std::vector<double> peaks_m_;
  const size_t score_stage_;
  size_t stage_ = 0;
};

// Cells of 4, 2 and 1 m; the second stage scores.
AlignJob JudgedJob() {
  AlignJob job;
  for (const double cell_size_m : {4.0, 2.0, 1.0}) {
    Stage stage;
    stage.cells.cell_size_m = cell_size_m;
    stage.max_step = 100.0;
    stage.epsilon = 1e-6;
    job.profile.stages.push_back(stage);
  }
  job.profile.score_stage = 1;
  job.profile.judged = true;
  job.profile.allowed_loss = 0.02;
  job.profile.acceptance_threshold = 2.3;
  PointCloud scan;
  scan.PushBack(10.0F, 0.0F, 0.0F);
  job.scan = std::make_shared<const PointCloud>(scan);
  return job;
}

AlignResult SearchPeaks(const AlignJob& job, PeaksEvaluator& evaluator) {
  AlignResult result;
  RunSchedule(job, evaluator, result);
  EXPECT_EQ(static_cast<size_t>(result.evaluations), evaluator.calls.size());
  return result;
}

TEST(JudgedSearchTest, AStageThatRaisesTheScoreIsBelieved) {
  PeaksEvaluator evaluator({0.9, 1.0, 1.1}, 1);
  const AlignResult result = SearchPeaks(JudgedJob(), evaluator);
  EXPECT_EQ(result.termination, Termination::kZeroStep);
  EXPECT_EQ(result.stage, 2);
  EXPECT_NEAR(result.map_T_base.translation.x(), 1.1, 1e-12);
  EXPECT_NEAR(result.before.nearest_voxel_likelihood, 9.90, 1e-12);
  EXPECT_NEAR(result.after.nearest_voxel_likelihood, 9.99, 1e-12);
  EXPECT_EQ(result.iterations, 3);
}

TEST(JudgedSearchTest, AStageBeforeTheScoreStageThatDoesNotRaiseItIsUndone) {
  PeaksEvaluator evaluator({50.0, 1.0, 1.0}, 1);
  AlignJob job = JudgedJob();
  job.profile.stages[1].max_step = 0.1;
  job.profile.stages[1].max_iterations = 1;
  job.want_trace = true;
  const AlignResult result = SearchPeaks(job, evaluator);
  ASSERT_EQ(result.trace.size(), 3u);
  EXPECT_EQ(result.trace[0].stage, 0);
  EXPECT_NEAR(result.trace[0].map_T_base_after.translation.x(), 50.0, 1e-12);
  // The next stage begins at the guess again.
  EXPECT_EQ(result.trace[1].stage, 1);
  EXPECT_EQ(result.trace[1].map_T_base.translation.x(), 0.0);
  EXPECT_NEAR(result.map_T_base.translation.x(), 1.0, 1e-12);
  EXPECT_EQ(result.stage, 2);
}

TEST(JudgedSearchTest, AStageThatEqualsTheGuessDoesNotRaiseTheScore) {
  // As far beyond the score stage's peak as the guess is before it.
  PeaksEvaluator evaluator({2.0, 1.0, 1.0}, 1);
  AlignJob job = JudgedJob();
  job.want_trace = true;
  const AlignResult result = SearchPeaks(job, evaluator);
  ASSERT_GE(result.trace.size(), 2u);
  EXPECT_EQ(result.trace[1].map_T_base.translation.x(), 0.0);
}

TEST(JudgedSearchTest, AStageAfterTheScoreStageMayLowerTheScoreByTheAllowedLoss) {
  for (const auto& [last_peak_m, taken] : {std::pair(2.9, true), std::pair(3.1, false)}) {
    PeaksEvaluator evaluator({1.0, 1.0, last_peak_m}, 1);
    const AlignResult result = SearchPeaks(JudgedJob(), evaluator);
    EXPECT_NEAR(result.map_T_base.translation.x(), taken ? last_peak_m : 1.0, 1e-12);
    EXPECT_EQ(result.stage, taken ? 2 : 1);
    EXPECT_NEAR(result.after.nearest_voxel_likelihood,
                (kHighest - (taken ? last_peak_m - 1.0 : 0.0)) / 10.0, 1e-12);
    // The derivatives are of the pose and the stage that are returned.
    EXPECT_NEAR(result.gradient[0], 0.0, 1e-12);
    EXPECT_EQ(evaluator.calls.back().stage, 1u);
    EXPECT_NEAR(evaluator.calls.back().x_m, taken ? last_peak_m : 1.0, 1e-12);
  }
}

TEST(JudgedSearchTest, WhereNothingBeatsTheGuessItIsReturnedAndNotAccepted) {
  AlignJob job = JudgedJob();
  // The score stage is drawn away too, by what it does not see in the sum.
  class Misled : public PeaksEvaluator {
   public:
    Misled() : PeaksEvaluator({50.0, 0.0, 50.0}, 1) {}
    Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
      Evaluation evaluation = PeaksEvaluator::Evaluate(chart, all_points);
      evaluation.derivatives.gradient[0] = 50.0 - chart[0];
      return evaluation;
    }
  } misled;
  const AlignResult result = SearchPeaks(job, misled);
  EXPECT_EQ(result.termination, Termination::kNoImprovement);
  EXPECT_TRUE(result.map_T_base.translation.isZero(0.0));
  EXPECT_EQ(result.after.nearest_voxel_likelihood, result.before.nearest_voxel_likelihood);
  EXPECT_EQ(result.stage, 1);
  EXPECT_NEAR(result.gradient[0], 50.0, 1e-12);
  EXPECT_EQ(Judge(result, job.profile), Acceptance::kNotConverged);
}

TEST(JudgedSearchTest, WithoutJudgementEveryStageIsBelieved) {
  PeaksEvaluator evaluator({50.0, 1.0, 60.0}, 1);
  AlignJob job = JudgedJob();
  job.profile.judged = false;
  const AlignResult result = SearchPeaks(job, evaluator);
  EXPECT_NEAR(result.map_T_base.translation.x(), 60.0, 1e-12);
  EXPECT_EQ(result.stage, 2);
}

TEST(JudgedSearchTest, StagesSearchWithSomePointsAndScoresAreOfAll) {
  PeaksEvaluator evaluator({1.0, 1.0, 1.0}, 1);
  AlignJob job = JudgedJob();
  job.profile.stages[0].point_voxel_m = 2.0;
  job.profile.stages[1].point_voxel_m = 1.0;
  (void)SearchPeaks(job, evaluator);
  // Before; stage 0 and its judgement; stage 1 and its judgement; stage 2 and the score after.
  std::vector<std::pair<size_t, bool>> calls;
  for (const PeaksEvaluator::Call& call : evaluator.calls) {
    if (calls.empty() || calls.back() != std::pair(call.stage, call.all_points)) {
      calls.emplace_back(call.stage, call.all_points);
    }
  }
  EXPECT_EQ(calls,
            (std::vector<std::pair<size_t, bool>>{
                {1, true}, {0, false}, {1, true}, {1, false}, {1, true}, {2, false}, {1, true}}));
}

TEST(JudgedSearchTest, AGoodGuessEntersAtTheScoreStage) {
  PeaksEvaluator evaluator({50.0, 1.0, 1.0}, 1);
  AlignJob job = JudgedJob();
  job.guess_covariance = 1e-4 * Matrix6::Identity();
  job.want_trace = true;
  const AlignResult result = SearchPeaks(job, evaluator);
  ASSERT_FALSE(result.trace.empty());
  EXPECT_EQ(result.trace[0].stage, 1);
  EXPECT_NEAR(result.map_T_base.translation.x(), 1.0, 1e-12);
  // The score before is the evaluation that the stage begins with.
  EXPECT_EQ(evaluator.calls[1].stage, 1u);
  EXPECT_NEAR(evaluator.calls[1].x_m, 1.0, 1e-12);
}

TEST(JudgedSearchTest, AnInterruptKeepsTheBestPoseSoFar) {
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  class Cancelling : public PeaksEvaluator {
   public:
    explicit Cancelling(std::atomic<bool>& flag)
        : PeaksEvaluator({0.9, 1.0, 90.0}, 1), flag_(flag) {}
    Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
      Evaluation evaluation = PeaksEvaluator::Evaluate(chart, all_points);
      // In the last stage, once it has gone astray.
      if (chart[0] > 2.0) flag_ = true;
      return evaluation;
    }

   private:
    std::atomic<bool>& flag_;
  } evaluator(*cancelled);
  AlignJob job = JudgedJob();
  job.profile.stages[2].max_step = 10.0;
  job.stop.cancelled = cancelled;
  const AlignResult result = SearchPeaks(job, evaluator);
  EXPECT_EQ(result.termination, Termination::kCancelled);
  EXPECT_NEAR(result.map_T_base.translation.x(), 1.0, 1e-12);
}

}  // namespace
}  // namespace voxloc
