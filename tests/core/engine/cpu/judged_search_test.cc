// SPDX-License-Identifier: Apache-2.0
//
// The judgement of stages and the repetition of one, on paraboloids made for it in place of a scan.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/cpu/newton_search.h"
#include "core/engine/search_rules.h"

namespace voxloc {
namespace {

constexpr double kHighest = 100.0;

Evaluation ParaboloidAt(double to_peak, double height) {
  Evaluation evaluation;
  evaluation.derivatives.score = -0.5 * to_peak * to_peak;
  evaluation.derivatives.gradient[0] = to_peak;
  for (int i = 0; i < 6; ++i) evaluation.derivatives.hessian.m[i][i] = -1.0;
  evaluation.score.points = evaluation.score.matched_points = 10;
  evaluation.score.nearest_voxel_likelihood = height / 10.0;
  return evaluation;
}

// Every stage has a peak along x that it climbs to in one step. What the score stage says of a pose
// is kHighest at its own peak, and 1 less for every metre.
class PeaksEvaluator : public PoseEvaluator {
 public:
  PeaksEvaluator(std::vector<double> peaks_m, size_t score_stage)
      : peaks_m_(std::move(peaks_m)), score_stage_(score_stage) {}

  void BeginStage(size_t stage) override { stage_ = stage; }

  Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
    calls.push_back({stage_, chart[0], all_points});
    return ParaboloidAt(peaks_m_[stage_] - chart[0],
                        kHighest - std::abs(peaks_m_[score_stage_] - chart[0]));
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
  RunSchedule(job, MakeSearchRules(job), evaluator, result);
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
  // Far off, and as far beyond the score stage's peak as the guess is before it.
  for (const double first_peak_m : {50.0, 2.0}) {
    PeaksEvaluator evaluator({first_peak_m, 1.0, 1.0}, 1);
    AlignJob job = JudgedJob();
    job.profile.stages[1].max_step = 0.1;
    job.profile.stages[1].max_iterations = 1;
    job.with_trace = true;
    const AlignResult result = SearchPeaks(job, evaluator);
    ASSERT_EQ(result.trace.size(), 3u);
    EXPECT_EQ(result.trace[0].stage, 0);
    EXPECT_NEAR(result.trace[0].map_T_base_after.translation.x(), first_peak_m, 1e-12);
    // The next stage begins at the guess again.
    EXPECT_EQ(result.trace[1].stage, 1);
    EXPECT_EQ(result.trace[1].map_T_base.translation.x(), 0.0);
    EXPECT_NEAR(result.map_T_base.translation.x(), 1.0, 1e-12);
    EXPECT_EQ(result.stage, 2);
  }
}

TEST(JudgedSearchTest, AStageAfterTheScoreStageMayLowerTheScoreByTheAllowedLoss) {
  for (const auto& [last_peak_m, taken] : {std::pair(2.9, true), std::pair(3.1, false)}) {
    PeaksEvaluator evaluator({1.0, 1.0, last_peak_m}, 1);
    AlignJob job = JudgedJob();
    // Entered at the score stage, so that there is no second attempt.
    job.guess_covariance = 1e-4 * Matrix6::Identity();
    const AlignResult result = SearchPeaks(job, evaluator);
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
  job.with_trace = true;
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

// Two places that look alike, 1 and 10 m along x from the guess. A stage has its own place that it
// climbs to from up to 5 m along x, and always to the far one from beyond. What the score stage and
// the last one say of a pose is 1 less for every metre from either place.
class LookAlikesEvaluator : public PoseEvaluator {
 public:
  struct Heights {
    double near = 0.0;
    double far = 0.0;
  };
  static constexpr double kNearM = 1.0;
  static constexpr double kFarM = 10.0;

  std::array<double, 4> climbs_to_m = {kFarM, kNearM, kNearM, kNearM};
  Heights score_cells = {90.0, 90.5};
  Heights last_cells = {50.0, 50.0};
  int calls = 0;

  void BeginStage(size_t stage) override { stage_ = stage; }

  Evaluation Evaluate(const ChartVector& chart, bool /*all_points*/) override {
    ++calls;
    const double x_m = chart[0];
    const double to_peak = (x_m > 5.0 ? kFarM : climbs_to_m[stage_]) - x_m;
    const Heights& heights = stage_ == 3 ? last_cells : score_cells;
    return ParaboloidAt(to_peak, std::max(heights.near - std::abs(x_m - kNearM),
                                          heights.far - std::abs(x_m - kFarM)));
  }

 private:
  size_t stage_ = 0;
};

// Cells of 8, 4, 2 and 1 m; the third stage scores.
AlignJob LookAlikesJob() {
  AlignJob job = JudgedJob();
  Stage first = job.profile.stages[0];
  first.cells.cell_size_m = 8.0;
  job.profile.stages.insert(job.profile.stages.begin(), first);
  job.profile.score_stage = 2;
  job.with_trace = true;
  return job;
}

AlignResult SearchLookAlikes(const AlignJob& job, LookAlikesEvaluator& evaluator) {
  AlignResult result;
  RunSchedule(job, MakeSearchRules(job), evaluator, result);
  EXPECT_EQ(result.evaluations, evaluator.calls);
  EXPECT_EQ(static_cast<size_t>(result.iterations), result.trace.size());
  EXPECT_NEAR(result.gradient[0], 0.0, 1e-12);
  return result;
}

// The stage of each step of the search, and where it began and ended along x.
using Step = std::tuple<int, double, double>;
std::vector<Step> StepsOf(const AlignResult& result) {
  std::vector<Step> steps;
  for (const IterationTrace& step : result.trace) {
    steps.emplace_back(step.stage, step.map_T_base.translation.x(),
                       step.map_T_base_after.translation.x());
  }
  return steps;
}

TEST(RepeatedStageTest, TheLastStageBeforeTheScoreStageRunsAgainFromTheGuess) {
  LookAlikesEvaluator evaluator;
  const AlignResult result = SearchLookAlikes(LookAlikesJob(), evaluator);
  // The other stages have nothing left to do.
  EXPECT_EQ(StepsOf(result), (std::vector<Step>{{0, 0.0, 10.0}, {1, 0.0, 1.0}}));
  EXPECT_EQ(result.map_T_base.translation.x(), 1.0);
  EXPECT_EQ(result.termination, Termination::kZeroStep);
  EXPECT_EQ(result.stage, 3);
  EXPECT_NEAR(result.before.nearest_voxel_likelihood, 8.9, 1e-12);
  EXPECT_NEAR(result.after.nearest_voxel_likelihood, 9.0, 1e-12);
}

TEST(RepeatedStageTest, TheFarPoseStaysWhereItScoresHigherByTheAllowedLoss) {
  for (const auto& [far_height, stays] : {std::pair(91.7, false), std::pair(91.9, true)}) {
    LookAlikesEvaluator evaluator;
    evaluator.score_cells.far = far_height;
    evaluator.last_cells.far = 60.0;
    const AlignResult result = SearchLookAlikes(LookAlikesJob(), evaluator);
    EXPECT_EQ(result.map_T_base.translation.x(), stays ? 10.0 : 1.0);
    EXPECT_NEAR(result.after.nearest_voxel_likelihood, (stays ? far_height : 90.0) / 10.0, 1e-12);
  }
}

TEST(RepeatedStageTest, NothingIsDoubtedWithinTheReachOfTheScoreStage) {
  // Cells reach 0.625 of their size.
  for (const auto& [cell_size_m, doubted] : {std::pair(16.1, false), std::pair(15.9, true)}) {
    LookAlikesEvaluator evaluator;
    AlignJob job = LookAlikesJob();
    job.profile.stages[2].cells.cell_size_m = cell_size_m;
    // So uncertain that the search is entered at the first stage.
    job.guess_covariance = 100.0 * Matrix6::Identity();
    const AlignResult result = SearchLookAlikes(job, evaluator);
    EXPECT_EQ(result.trace.size(), doubted ? 2u : 1u);
    EXPECT_EQ(result.map_T_base.translation.x(), doubted ? 1.0 : 10.0);
  }
}

TEST(RepeatedStageTest, WhereTheRepetitionLosesTooMuchItIsUndone) {
  LookAlikesEvaluator evaluator;
  evaluator.climbs_to_m[1] = -3.0;
  evaluator.last_cells.far = 60.0;
  const AlignResult result = SearchLookAlikes(LookAlikesJob(), evaluator);
  // The second attempt does not stay either.
  EXPECT_EQ(StepsOf(result), (std::vector<Step>{{0, 0.0, 10.0}, {1, 0.0, -3.0}, {2, 0.0, 1.0}}));
  EXPECT_EQ(result.map_T_base.translation.x(), 10.0);
  EXPECT_NEAR(result.after.nearest_voxel_likelihood, 9.05, 1e-12);
}

// All soft stages end at the far place, which the score stage prefers.
LookAlikesEvaluator MisledEvaluator() {
  LookAlikesEvaluator evaluator;
  evaluator.climbs_to_m = {10.0, 10.0, 1.0, 1.0};
  evaluator.score_cells = {90.0, 95.0};
  return evaluator;
}

TEST(SecondAttemptTest, TheLastCellsDecideByTheAllowedLoss) {
  for (const auto& [far_height, stays] : {std::pair(50.9, false), std::pair(51.1, true)}) {
    LookAlikesEvaluator evaluator = MisledEvaluator();
    evaluator.last_cells.far = far_height;
    const AlignResult result = SearchLookAlikes(LookAlikesJob(), evaluator);
    EXPECT_EQ(StepsOf(result), (std::vector<Step>{{0, 0.0, 10.0}, {1, 0.0, 10.0}, {2, 0.0, 1.0}}));
    EXPECT_EQ(result.map_T_base.translation.x(), stays ? 10.0 : 1.0);
    EXPECT_NEAR(result.after.nearest_voxel_likelihood, stays ? 9.5 : 9.0, 1e-12);
    EXPECT_EQ(result.termination, Termination::kZeroStep);
    EXPECT_EQ(result.stage, 3);
  }
}

TEST(SecondAttemptTest, WhatWasEnteredAtTheScoreStageHasNone) {
  LookAlikesEvaluator evaluator;
  evaluator.climbs_to_m[2] = 10.0;
  AlignJob job = LookAlikesJob();
  job.guess_covariance = 1e-4 * Matrix6::Identity();
  const AlignResult result = SearchLookAlikes(job, evaluator);
  EXPECT_EQ(StepsOf(result), (std::vector<Step>{{2, 0.0, 10.0}}));
  EXPECT_EQ(result.map_T_base.translation.x(), 10.0);
}

TEST(SecondAttemptTest, WhereItFindsNothingTheFirstAnswerStays) {
  LookAlikesEvaluator evaluator = MisledEvaluator();
  evaluator.climbs_to_m = {10.0, 10.0, -3.0, -3.0};
  // The guess would outweigh the first answer, but it is none.
  evaluator.last_cells = {90.0, 10.0};
  const AlignResult result = SearchLookAlikes(LookAlikesJob(), evaluator);
  EXPECT_EQ(StepsOf(result),
            (std::vector<Step>{{0, 0.0, 10.0}, {1, 0.0, 10.0}, {2, 0.0, -3.0}, {3, 0.0, -3.0}}));
  EXPECT_EQ(result.map_T_base.translation.x(), 10.0);
  EXPECT_EQ(result.termination, Termination::kZeroStep);
  EXPECT_NEAR(result.after.nearest_voxel_likelihood, 9.5, 1e-12);
}

// Cancels the search at the first evaluation under this stage between the guess and the near place.
class CancellingEvaluator : public LookAlikesEvaluator {
 public:
  CancellingEvaluator(size_t stage, AlignJob& job)
      : LookAlikesEvaluator(MisledEvaluator()), stage_(stage) {
    job.profile.stages[stage].max_step = 0.4;
    job.stop.cancelled = cancelled_;
  }
  void BeginStage(size_t stage) override {
    LookAlikesEvaluator::BeginStage(stage);
    runs_ = stage == stage_;
  }
  Evaluation Evaluate(const ChartVector& chart, bool all_points) override {
    if (runs_ && chart[0] > 0.0 && chart[0] < 1.0) *cancelled_ = true;
    return LookAlikesEvaluator::Evaluate(chart, all_points);
  }

 private:
  const size_t stage_;
  bool runs_ = false;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

TEST(SecondAttemptTest, AnInterruptInItOrInARepetitionKeepsTheBestPoseSoFar) {
  for (const size_t stage : {1, 2}) {
    SCOPED_TRACE(stage);
    AlignJob job = LookAlikesJob();
    CancellingEvaluator evaluator(stage, job);
    std::vector<Step> steps = {{0, 0.0, 10.0}, {1, 0.0, 10.0}, {2, 0.0, 0.4}};
    if (stage == 1) {
      evaluator.climbs_to_m[1] = 1.0;
      steps = {{0, 0.0, 10.0}, {1, 0.0, 0.4}};
    }
    const AlignResult result = SearchLookAlikes(job, evaluator);
    EXPECT_EQ(result.termination, Termination::kCancelled);
    EXPECT_EQ(StepsOf(result), steps);
    EXPECT_EQ(result.map_T_base.translation.x(), 10.0);
    EXPECT_NEAR(result.after.nearest_voxel_likelihood, 9.5, 1e-12);
    if (stage == 2) {
      EXPECT_EQ(result.stage, 3);
    }
  }
}

}  // namespace
}  // namespace voxloc
