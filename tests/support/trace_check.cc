// SPDX-License-Identifier: Apache-2.0

#include "tests/support/trace_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "core/geometry/euler.h"

namespace voxloc {
namespace {

bool SearchesAlongLines(const Profile& profile) {
  return std::any_of(profile.stages.begin(), profile.stages.end(),
                     [](const Stage& stage) { return stage.line_search; });
}

using Steps = absl::Span<const IterationTrace>;

// The steps of a search's attempts; the second may have none.
std::pair<Steps, Steps> AttemptsOf(const AlignResult& result) {
  const Steps steps = result.trace;
  size_t first = 1;
  while (first < steps.size() && steps[first].stage >= steps[first - 1].stage) ++first;
  return {steps.first(first), steps.subspan(first)};
}

// Whether the stage of step i > 0 runs there once more, from the guess.
bool RepeatsStage(Steps steps, size_t i) {
  const IterationTrace& step = steps[i];
  const IterationTrace& before = steps[i - 1];
  return step.stage == before.stage &&
         step.map_T_base.translation != before.map_T_base_after.translation;
}

// Of one attempt, where every stage makes a step; without the evaluation at the guess.
int MinEvaluations(Steps steps, const Profile& profile) {
  const auto score_stage = static_cast<int>(profile.score_stage);
  const int last_stage = steps.back().stage;
  const int stages = last_stage - steps.front().stage + 1;
  // One a step, one where each stage begins.
  int min_evaluations = static_cast<int>(steps.size()) + stages;
  for (size_t i = 0; i < steps.size(); ++i) {
    const IterationTrace& step = steps[i];
    const bool repeats = i > 0 && RepeatsStage(steps, i);
    const bool begins = i == 0 || step.stage != steps[i - 1].stage || repeats;
    if (!begins) continue;
    if (repeats) ++min_evaluations;
    // One at the end of each stage that is judged or the last, except for the score stage.
    const bool last = step.stage == last_stage;
    if (step.stage != score_stage && (profile.judged || last)) ++min_evaluations;
    // The score stage begins with what the stage before was judged by.
    const bool evaluated = i > 0 && profile.judged &&
                           step.map_T_base.translation == steps[i - 1].map_T_base_after.translation;
    if (step.stage == score_stage && evaluated) --min_evaluations;
  }
  return min_evaluations;
}

int MinEvaluations(const AlignResult& result, const Profile& profile) {
  const auto [first, second] = AttemptsOf(result);
  int min_evaluations = 1 + MinEvaluations(first, profile);
  if (!second.empty()) min_evaluations += MinEvaluations(second, profile);
  // Entered at the score stage, a search has it evaluated at the guess.
  if (first.front().stage == static_cast<int>(profile.score_stage)) --min_evaluations;
  const bool last_is_left =
      result.trace.back().map_T_base_after.translation != result.map_T_base.translation;
  return last_is_left ? min_evaluations + 1 : min_evaluations;
}

// From the pose of `here`, where the steps of both poses as a line through them are shortest, by
// what is left of them there.
ChartVector AcceleratedStep(const IterationTrace& before, const IterationTrace& here) {
  const ChartVector change = here.newton_step - before.newton_step;
  const ChartVector moved = ChartFromPose(here.map_T_base) - ChartFromPose(before.map_T_base);
  const double back =
      (change.transpose() * change).ldlt().solve(change.transpose() * here.newton_step)(0);
  return here.newton_step - back * (moved + change);
}

// Whether this step is taken in place of Newton's: one that climbs, up to ten times as long and
// 0.05 long.
bool MayReplace(const IterationTrace& here, const ChartVector& step, double margin) {
  return std::max(here.newton_step_norm, step.norm()) < margin * 0.05 &&
         here.gradient.dot(step) > (1.0 - margin) * here.gradient.norm() * step.norm() &&
         step.norm() < margin * 10.0 * here.newton_step_norm;
}

void ExpectStep(const IterationTrace& trace, const Stage& stage, const ChartVector& step) {
  if (!stage.line_search) {
    const double floor = stage.step_floor ? 0.5 * stage.epsilon : 0.0;
    const double length = std::max(std::min(step.norm(), stage.max_step), floor);
    EXPECT_NEAR(trace.step_length, length, 1e-9 * length);
  }
  const Pose after =
      PoseFromChart(ChartFromPose(trace.map_T_base) + trace.step_length * step.normalized());
  EXPECT_LE(TranslationDistance(after, trace.map_T_base_after), 1e-12);
  EXPECT_LE(RotationDistance(after, trace.map_T_base_after), 1e-9);
}

}  // namespace

void ExpectConsistentTrace(const AlignResult& result, const Profile& profile) {
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.trace.size(), static_cast<size_t>(result.iterations));
  const int min_evaluations = MinEvaluations(result, profile);
  if (SearchesAlongLines(profile)) {
    EXPECT_GE(result.evaluations, min_evaluations);
  } else {
    EXPECT_EQ(result.evaluations, min_evaluations);
  }
  for (size_t i = 0; i < result.trace.size(); ++i) {
    SCOPED_TRACE(i);
    const IterationTrace& trace = result.trace[i];
    const Stage& stage = profile.stages[static_cast<size_t>(trace.stage)];
    if (i == AttemptsOf(result).first.size()) {
      EXPECT_TRUE(profile.judged);
      EXPECT_EQ(static_cast<size_t>(trace.stage), profile.score_stage);
      EXPECT_EQ(trace.map_T_base.translation, result.trace.front().map_T_base.translation);
    } else if (i > 0) {
      EXPECT_GE(trace.stage, result.trace[i - 1].stage);
      // A stage that was undone is followed by one that begins where it began.
      const bool begins_a_judged_stage = profile.judged && trace.stage != result.trace[i - 1].stage;
      if (RepeatsStage(result.trace, i)) {
        EXPECT_TRUE(profile.judged);
        EXPECT_EQ(static_cast<size_t>(trace.stage) + 1, profile.score_stage);
        EXPECT_EQ(trace.map_T_base.translation, result.trace.front().map_T_base.translation);
      } else if (!begins_a_judged_stage) {
        EXPECT_EQ(trace.map_T_base.translation, result.trace[i - 1].map_T_base_after.translation);
      }
    }
    // The step solves the Newton system.
    const ChartVector residual = trace.hessian * trace.newton_step + trace.gradient;
    EXPECT_LE(residual.norm(), 1e-7 * trace.gradient.norm());
    EXPECT_NEAR(trace.newton_step_norm, trace.newton_step.norm(), 1e-12);
    EXPECT_EQ(trace.hessian, trace.hessian.transpose());

    const double along = trace.gradient.dot(trace.newton_step);
    EXPECT_EQ(trace.reversed, along < 0.0);
    EXPECT_NEAR(trace.slope, -std::abs(along) / trace.newton_step_norm,
                1e-9 * trace.gradient.norm());
    EXPECT_LE(trace.step_length, stage.max_step);
    const ChartVector step = trace.newton_step * (trace.reversed ? -1.0 : 1.0);
    const bool accelerated = static_cast<size_t>(trace.stage) > profile.score_stage &&
                             stage.curvature == Curvature::kReweighted && !stage.line_search &&
                             !stage.step_floor;
    const bool continues = i > 0 && trace.stage == result.trace[i - 1].stage &&
                           i != AttemptsOf(result).first.size() && !RepeatsStage(result.trace, i);
    if (accelerated && continues) {
      const ChartVector faster = AcceleratedStep(result.trace[i - 1], trace);
      if (MayReplace(trace, faster, 0.999)) {
        ExpectStep(trace, stage, faster);
        continue;
      }
      // Within rounding of where it may.
      if (MayReplace(trace, faster, 1.001)) continue;
    }
    ExpectStep(trace, stage, step);
    EXPECT_GT(trace.score.pairs, 0u);
  }
  if (!profile.judged) {
    EXPECT_EQ(result.trace.back().map_T_base_after.translation, result.map_T_base.translation);
  }
  if (profile.score_stage == 0) {
    EXPECT_EQ(result.trace.front().score.score, result.before.score);
  }
}

}  // namespace voxloc
