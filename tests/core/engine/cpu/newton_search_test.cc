// SPDX-License-Identifier: Apache-2.0
//
// The search on functions made for it, in place of a scan.

#include "core/engine/cpu/newton_search.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "core/engine/search_rules.h"

namespace voxloc {
namespace {

using Function = std::function<Evaluation(const ChartVector&, int evaluation)>;

class FunctionEvaluator : public PoseEvaluator {
 public:
  explicit FunctionEvaluator(Function function) : function_(std::move(function)) {}
  void BeginStage(size_t stage) override { stages.push_back(1.0 + static_cast<double>(stage)); }
  Evaluation Evaluate(const ChartVector& chart, bool /*all_points*/) override {
    return function_(chart, ++evaluations);
  }

  int evaluations = 0;
  std::vector<double> stages;

 private:
  Function function_;
};

Evaluation Make(double score, const ChartVector& gradient, double curvature) {
  Evaluation evaluation;
  evaluation.derivatives.score = score;
  for (int i = 0; i < 6; ++i) {
    evaluation.derivatives.gradient[i] = gradient[i];
    evaluation.derivatives.hessian.m[i][i] = curvature;
  }
  evaluation.score.score = score;
  evaluation.score.points = 10;
  evaluation.score.matched_points = 10;
  evaluation.score.pairs = 10;
  return evaluation;
}

// A paraboloid whose maximum lies at x = 1, y = 2.
Evaluation Paraboloid(const ChartVector& p, int) {
  ChartVector peak = ChartVector::Zero();
  peak[0] = 1.0;
  peak[1] = 2.0;
  return Make(10.0 - (p - peak).squaredNorm(), 2.0 * (peak - p), -2.0);
}

// Overshoots x = 0 by as much as it was off, for ever.
Evaluation Pendulum(const ChartVector& p, int) {
  ChartVector gradient = ChartVector::Zero();
  gradient[0] = -2.0 * p[0];
  return Make(10.0 - std::abs(p[0]), gradient, -1.0);
}

AlignJob Job(int stages = 1) {
  AlignJob job;
  for (int i = 0; i < stages; ++i) {
    Stage stage;
    stage.cells.cell_size_m = 1.0 + i;
    stage.max_step = 10.0;
    stage.epsilon = 1e-6;
    job.profile.stages.push_back(stage);
  }
  job.with_trace = true;
  return job;
}

AlignResult Search(const AlignJob& job, FunctionEvaluator& evaluator) {
  AlignResult result;
  RunSchedule(job, MakeSearchRules(job), evaluator, result);
  EXPECT_EQ(result.evaluations, evaluator.evaluations);
  return result;
}

TEST(NewtonSearchTest, AParaboloidTakesOneStepAndOneToSeeIt) {
  FunctionEvaluator evaluator(Paraboloid);
  const AlignResult result = Search(Job(), evaluator);
  EXPECT_EQ(result.termination, Termination::kZeroStep);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_LE((result.map_T_base.translation - Eigen::Vector3d(1, 2, 0)).norm(), 1e-12);
  EXPECT_DOUBLE_EQ(result.after.score, 10.0);
  EXPECT_DOUBLE_EQ(result.before.score, 5.0);
}

TEST(NewtonSearchTest, StagesRunInTheirOrderEachFromWhereTheLastEnded) {
  FunctionEvaluator evaluator(Paraboloid);
  AlignJob job = Job(3);
  job.profile.stages[0].max_step = 0.5;
  job.profile.stages[0].max_iterations = 2;
  job.profile.score_stage = 2;
  const AlignResult result = Search(job, evaluator);
  // The score before is that of the last stage.
  EXPECT_EQ(evaluator.stages, (std::vector<double>{3.0, 1.0, 2.0, 3.0}));
  // Two short steps in the first, one long in the second, none in the third.
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(result.evaluations, 7);
  EXPECT_EQ(result.trace[2].stage, 1);
  // A limit met in an earlier stage is no limit met.
  EXPECT_FALSE(result.reached_iteration_limit);
  EXPECT_LE((result.map_T_base.translation - Eigen::Vector3d(1, 2, 0)).norm(), 1e-12);
}

TEST(NewtonSearchTest, ScoresBeforeAndAfterAreThoseOfTheScoreStage) {
  for (size_t score_stage = 0; score_stage < 3; ++score_stage) {
    const FunctionEvaluator* current = nullptr;
    FunctionEvaluator evaluator([&current](const ChartVector& p, int evaluation) {
      Evaluation result = Paraboloid(p, evaluation);
      result.score.nearest_voxel_likelihood = current->stages.back();
      return result;
    });
    current = &evaluator;
    AlignJob job = Job(3);
    job.profile.score_stage = score_stage;
    const AlignResult result = Search(job, evaluator);
    const double expected = job.profile.stages[score_stage].cells.cell_size_m;
    EXPECT_EQ(result.before.nearest_voxel_likelihood, expected);
    EXPECT_EQ(result.after.nearest_voxel_likelihood, expected);
    EXPECT_DOUBLE_EQ(result.before.score, 5.0);
    EXPECT_DOUBLE_EQ(result.after.score, 10.0);
  }
}

TEST(NewtonSearchTest, SwingingToAndFroIsCountedUpToTheLimit) {
  FunctionEvaluator evaluator(Pendulum);
  AlignJob job = Job();
  job.map_T_base_guess.translation.x() = 0.5;
  job.profile.stages[0].max_iterations = 30;
  const AlignResult result = Search(job, evaluator);
  EXPECT_EQ(result.termination, Termination::kMaxIterations);
  EXPECT_TRUE(result.reached_iteration_limit);
  EXPECT_EQ(result.iterations, 30);
  EXPECT_EQ(result.oscillations, 29);
}

TEST(NewtonSearchTest, OnlyTheLastStagesOscillationCounts) {
  FunctionEvaluator evaluator([](const ChartVector& p, int evaluation) {
    return evaluation <= 11 ? Pendulum(p, evaluation) : Paraboloid(p, evaluation);
  });
  AlignJob job = Job(2);
  job.map_T_base_guess.translation.x() = 0.5;
  job.profile.stages[0].max_iterations = 10;
  const AlignResult result = Search(job, evaluator);
  EXPECT_EQ(result.oscillations, 0);
  EXPECT_FALSE(result.reached_iteration_limit);
}

TEST(NewtonSearchTest, TheStepFloorStretchesTheLastStep) {
  FunctionEvaluator evaluator(Paraboloid);
  AlignJob job = Job();
  job.profile.stages[0].epsilon = 0.01;
  job.profile.stages[0].step_floor = true;
  job.map_T_base_guess.translation = {0.999, 2.0, 0.0};
  const AlignResult result = Search(job, evaluator);
  EXPECT_EQ(result.termination, Termination::kConverged);
  EXPECT_EQ(result.iterations, 1);
  EXPECT_DOUBLE_EQ(result.trace[0].step_length, 0.005);
  EXPECT_NEAR(result.map_T_base.translation.x(), 1.004, 1e-12);
}

// Whose second stage, behind the score stage, has this curvature.
AlignJob RefiningJob(Curvature curvature) {
  AlignJob job = Job(2);
  for (Stage& stage : job.profile.stages) stage.step_floor = false;
  job.profile.stages[0].max_iterations = 1;
  job.profile.stages[1].max_iterations = 60;
  job.profile.stages[1].curvature = curvature;
  return job;
}

TEST(NewtonSearchTest, ReweightedStepsBehindTheScoreStageAreAccelerated) {
  // Its curvature is overestimated, by twice along x and by three times along y: Newton's steps
  // leave a half and two thirds of the way.
  const auto flat = [](const ChartVector& p, int evaluation) {
    Evaluation result = Paraboloid(p, evaluation);
    result.derivatives.hessian.m[0][0] = -4.0;
    result.derivatives.hessian.m[1][1] = -6.0;
    return result;
  };
  FunctionEvaluator plain_evaluator(flat);
  const AlignResult plain = Search(RefiningJob(Curvature::kExact), plain_evaluator);
  FunctionEvaluator evaluator(flat);
  const AlignResult result = Search(RefiningJob(Curvature::kReweighted), evaluator);
  EXPECT_LE(3 * result.iterations, 2 * plain.iterations);
  EXPECT_EQ(result.termination, Termination::kConverged);
  EXPECT_LE((result.map_T_base.translation - Eigen::Vector3d(1, 2, 0)).norm(), 1e-6);
  // Newton's step there, not the one that was taken.
  EXPECT_LE(
      (result.trace[2].hessian * result.trace[2].newton_step + result.trace[2].gradient).norm(),
      1e-12);

  // Others are not.
  AlignJob job = RefiningJob(Curvature::kReweighted);
  job.profile.score_stage = 1;
  FunctionEvaluator again(flat);
  EXPECT_EQ(Search(job, again).iterations, plain.iterations);
}

TEST(NewtonSearchTest, AccelerationKeepsToStepsThatClimb) {
  // A ridge along x: the steps hardly change, so that extrapolating them leads far away.
  const auto ridge = [](const ChartVector& p, int) {
    ChartVector gradient = ChartVector::Zero();
    gradient[0] = 1.0 - 1e-6 * p[0];
    return Make(p[0] - 5e-7 * p[0] * p[0], gradient, -100.0);
  };
  FunctionEvaluator evaluator(ridge);
  const AlignResult result = Search(RefiningJob(Curvature::kReweighted), evaluator);
  EXPECT_EQ(result.termination, Termination::kMaxIterations);
  for (const IterationTrace& step : result.trace) {
    EXPECT_DOUBLE_EQ(step.step_length, step.newton_step_norm);
  }
}

TEST(NewtonSearchTest, CancellingMidwayKeepsTheBestSoFar) {
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  FunctionEvaluator evaluator([&](const ChartVector& p, int evaluation) {
    if (evaluation == 4) *cancelled = true;
    return Paraboloid(p, evaluation);
  });
  AlignJob job = Job(2);
  job.profile.stages[0].max_step = 0.1;
  job.stop.cancelled = cancelled;
  const AlignResult result = Search(job, evaluator);
  EXPECT_EQ(result.termination, Termination::kCancelled);
  EXPECT_EQ(result.evaluations, 4);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_NEAR(result.map_T_base.translation.norm(), 0.3, 1e-12);
  EXPECT_EQ(evaluator.stages.size(), 1u);
}

TEST(NewtonSearchTest, AnOverflowKeepsTheLastFinitePose) {
  for (const bool line_search : {false, true}) {
    FunctionEvaluator evaluator([](const ChartVector& p, int evaluation) {
      Evaluation result = Paraboloid(p, evaluation);
      if (evaluation > 3) result.derivatives.hessian.m[2][2] = std::nan("");
      return result;
    });
    AlignJob job = Job(2);
    job.profile.stages[0].max_step = 0.1;
    job.profile.stages[0].line_search = line_search;
    const AlignResult result = Search(job, evaluator);
    EXPECT_EQ(result.termination, Termination::kNotFinite);
    EXPECT_TRUE(result.map_T_base.translation.allFinite());
    EXPECT_NEAR(result.map_T_base.translation.norm(), 0.2, 1e-9);
    EXPECT_TRUE(result.hessian.allFinite());
  }
}

TEST(NewtonSearchTest, AnOverflowAtTheGuessStaysThere) {
  FunctionEvaluator evaluator([](const ChartVector& p, int evaluation) {
    Evaluation result = Paraboloid(p, evaluation);
    result.derivatives.score = HUGE_VAL;
    return result;
  });
  const AlignResult result = Search(Job(2), evaluator);
  EXPECT_EQ(result.termination, Termination::kNotFinite);
  EXPECT_EQ(result.evaluations, 1);
  EXPECT_TRUE(result.map_T_base.translation.isZero(0.0));
}

TEST(NewtonSearchTest, ALineSearchGoesAsFarAsItPays) {
  // Newton's step is a hundred times too short: the search along it goes on to the longest step.
  FunctionEvaluator evaluator([](const ChartVector& p, int) {
    ChartVector gradient = ChartVector::Zero();
    gradient[0] = 1.0;
    return Make(p[0], gradient, -100.0);
  });
  AlignJob job = Job();
  job.profile.stages[0].line_search = true;
  job.profile.stages[0].max_step = 0.5;
  job.profile.stages[0].max_iterations = 1;
  const AlignResult result = Search(job, evaluator);
  EXPECT_DOUBLE_EQ(result.trace[0].step_length, 0.5);
  EXPECT_NEAR(result.map_T_base.translation.x(), 0.5, 1e-12);
}

}  // namespace
}  // namespace voxloc
