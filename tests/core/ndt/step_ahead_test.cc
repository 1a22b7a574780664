// SPDX-License-Identifier: Apache-2.0
//
// A search whose steps are taken while their evaluation is made goes the same way, to the bit, as
// one that takes them afterwards.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ndt/pose_score.h"
#include "core/ndt/search.h"

namespace voxloc::ndt {
namespace {

using Search = NewtonSearch<PoseScore>;
using Chart = std::array<double, 6>;

// What happens at one evaluation, counted from 0.
struct Event {
  int at = -1;
  bool not_finite = false;
  Interrupt interrupt = Interrupt::kNone;
};

// Of a hill that is narrower in some directions than in others, and wavy: Newton's steps go to and
// fro, and line searches need several trials.
void EvaluateHill(const double (&chart)[6], Evaluation<PoseScore>& evaluation) {
  evaluation = {};
  double score = 0.0;
  for (int i = 0; i < 6; ++i) {
    const double narrow = 1.0 + i;
    const double x = chart[i] - 0.1 * i;
    score += std::exp(-0.5 * narrow * x * x) + 0.02 * std::cos(9.0 * x);
    evaluation.derivatives.gradient[i] =
        -narrow * x * std::exp(-0.5 * narrow * x * x) - 0.18 * std::sin(9.0 * x);
    evaluation.derivatives.hessian.m[i][i] =
        (narrow * narrow * x * x - narrow) * std::exp(-0.5 * narrow * x * x) -
        1.62 * std::cos(9.0 * x);
  }
  evaluation.derivatives.score = score;
  evaluation.score.score = score;
  evaluation.score.nearest_voxel_likelihood = score;
  evaluation.score.points = evaluation.score.matched_points = 1;
}

struct Walk {
  std::vector<Chart> requested_chart;  // at each evaluation
  std::vector<Chart> stepped;          // from and to, of each step
  Chart end{};
  // Evaluations, iterations, oscillations, the answer's stage, and whether a limit was reached.
  std::array<int, 5> counts{};
  Termination termination{};
};

Chart ToArray(const double (&chart)[6]) {
  Chart array;
  for (size_t i = 0; i < 6; ++i) array[i] = chart[i];
  return array;
}

Walk Run(const SearchRules& rules, const Event& event, bool ahead) {
  const double guess[6] = {0.4, -0.3, 0.5, 0.2, 0.6, 0.3};
  Search search(rules, guess);
  Walk walk;
  while (!search.done()) {
    walk.requested_chart.push_back(ToArray(search.requested_chart()));
    if (ahead) search.StepAhead(rules);
    EvaluateHill(search.requested_chart(), search.next());
    const bool now = search.evaluations() == event.at;
    if (now && event.not_finite) {
      search.next().derivatives.gradient[2] = std::numeric_limits<double>::quiet_NaN();
    }
    search.next().finite = IsFinite(search.next().derivatives);
    search.Advance(rules, now ? event.interrupt : Interrupt::kNone);
    if (search.stepped()) {
      IterationRecord step;
      search.WriteStep(step);
      walk.stepped.push_back(ToArray(step.from));
      walk.stepped.push_back(ToArray(step.after));
    }
  }
  walk.end = ToArray(search.chart());
  walk.counts = {search.evaluations(), search.iterations(), search.oscillations(),
                 search.result_stage(), search.reached_iteration_limit() ? 1 : 0};
  walk.termination = search.termination();
  return walk;
}

// The same, and how it ended. Returns the evaluations.
int ExpectSame(const SearchRules& rules, const Event& event) {
  const Walk after = Run(rules, event, false);
  const Walk ahead = Run(rules, event, true);
  EXPECT_EQ(ahead.requested_chart, after.requested_chart);
  EXPECT_EQ(ahead.stepped, after.stepped);
  EXPECT_EQ(ahead.end, after.end);
  EXPECT_EQ(ahead.counts, after.counts);
  EXPECT_EQ(ahead.termination, after.termination);
  return after.counts[0];
}

SearchRules MakeSearchRules(bool line_search, bool judged) {
  SearchRules rules;
  rules.stages = 2;
  rules.score_stage = 1;
  rules.traced = true;
  rules.judgement.judged = judged;
  rules.judgement.recheck_beyond_m = 0.2;
  for (int i = 0; i < 2; ++i) {
    rules.stage[i].line_search = line_search;
    rules.stage[i].max_step = i == 0 ? 0.4 : 0.1;
    rules.stage[i].epsilon = 1e-4;
    rules.stage[i].max_iterations = 12;
  }
  return rules;
}

TEST(StepAhead, GoesTheSameWayUndisturbed) {
  for (const bool line_search : {false, true}) {
    for (const bool judged : {false, true}) {
      SearchRules rules = MakeSearchRules(line_search, judged);
      EXPECT_GT(ExpectSame(rules, {}), 8);
      rules.stage[0].max_iterations = rules.stage[1].max_iterations = 3;
      ExpectSame(rules, {});
      rules.regularized = true;
      rules.reference_x = 1.0;
      rules.regularization_scale = 0.01;
      ExpectSame(rules, {});
      rules.prior.active = true;
      rules.prior.observed_share = 0.1;
      for (int i = 0; i < 6; ++i) {
        rules.prior.covariance[i][i] = 0.1;
        rules.prior.inverse_variance[i] = 10.0;
      }
      ExpectSame(rules, {});
    }
  }
}

TEST(StepAhead, IsTakenBackWhereNotFiniteAndKeptWhereInterrupted) {
  for (const bool judged : {false, true}) {
    const SearchRules rules = MakeSearchRules(false, judged);
    const int evaluations = ExpectSame(rules, {});
    for (int at = 0; at < evaluations; ++at) {
      SCOPED_TRACE(at);
      ExpectSame(rules, {at, /*not_finite=*/true, Interrupt::kNone});
      ExpectSame(rules, {at, /*not_finite=*/false, Interrupt::kCancelled});
      ExpectSame(rules, {at, /*not_finite=*/false, Interrupt::kDeadline});
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
