// SPDX-License-Identifier: Apache-2.0

#include "tests/support/trace_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/geometry/euler.h"

namespace voxloc {
namespace {

bool SearchesAlongLines(const Profile& profile) {
  return std::any_of(profile.stages.begin(), profile.stages.end(),
                     [](const Stage& stage) { return stage.line_search; });
}

}  // namespace

void ExpectConsistentTrace(const AlignResult& result, const Profile& profile) {
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.trace.size(), static_cast<size_t>(result.iterations));
  // One evaluation a step, one where each stage begins, and those under the score stage's cells.
  const auto last_stage = static_cast<size_t>(result.trace.back().stage);
  const int for_scores =
      (profile.score_stage != 0 ? 1 : 0) + (profile.score_stage != last_stage ? 1 : 0);
  const int least = result.iterations + static_cast<int>(last_stage) + 1 + for_scores;
  if (SearchesAlongLines(profile)) {
    EXPECT_GE(result.evaluations, least);
  } else {
    EXPECT_EQ(result.evaluations, least);
  }
  for (size_t i = 0; i < result.trace.size(); ++i) {
    SCOPED_TRACE(i);
    const IterationTrace& trace = result.trace[i];
    const Stage& stage = profile.stages[static_cast<size_t>(trace.stage)];
    if (i > 0) {
      EXPECT_GE(trace.stage, result.trace[i - 1].stage);
      EXPECT_EQ(trace.map_T_base.translation, result.trace[i - 1].map_T_base_after.translation);
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
    if (!stage.line_search) {
      const double floor = stage.step_floor ? 0.5 * stage.epsilon : 0.0;
      EXPECT_DOUBLE_EQ(trace.step_length,
                       std::max(std::min(trace.newton_step_norm, stage.max_step), floor));
    }
    EXPECT_LE(trace.step_length, stage.max_step);
    const ChartVector unit =
        trace.newton_step / trace.newton_step_norm * (trace.reversed ? -1.0 : 1.0);
    const Pose after = PoseFromChart(ChartFromPose(trace.map_T_base) + trace.step_length * unit);
    EXPECT_LE(TranslationDistance(after, trace.map_T_base_after), 1e-12);
    EXPECT_LE(RotationDistance(after, trace.map_T_base_after), 1e-9);
    EXPECT_GT(trace.score.pairs, 0u);
  }
  EXPECT_EQ(result.trace.back().map_T_base_after.translation, result.map_T_base.translation);
  if (profile.score_stage == 0) {
    EXPECT_EQ(result.trace.front().score.score, result.before.score);
  }
}

}  // namespace voxloc
