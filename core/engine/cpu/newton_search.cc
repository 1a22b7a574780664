// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/newton_search.h"

#include "core/engine/search_rules.h"
#include "core/ndt/search.h"

namespace voxloc {

void RunSchedule(const AlignJob& job, const ndt::SearchRules& rules, PoseEvaluator& evaluator,
                 AlignResult& result) {
  const ChartVector guess = ChartFromPose(job.map_T_base_guess);
  double chart[6];
  Eigen::Map<ChartVector>(chart, 6) = guess;
  ndt::NewtonSearch<PoseScore> search(rules, chart);
  int stage = -1;
  while (!search.done()) {
    if (search.requested_stage() != stage) {
      stage = search.requested_stage();
      evaluator.BeginStage(static_cast<size_t>(stage));
    }
    Evaluation& evaluation = search.next();
    evaluation = evaluator.Evaluate(ToEigen(search.requested_chart()), search.uses_all_points());
    evaluation.finite = ndt::IsFinite(evaluation.derivatives);
    search.Advance(rules, CheckInterrupt(job.stop));
    if (job.with_trace && search.stepped()) {
      ndt::IterationRecord record;
      search.WriteStep(record);
      result.trace.push_back(MakeTrace(record, search.step_score()));
    }
  }
  result.map_T_base = PoseFromChart(ToEigen(search.chart()));
  result.termination = search.termination();
  result.before = search.before();
  result.after = search.after();
  result.stage = search.result_stage() < 0 ? rules.score_stage : search.result_stage();
  result.gradient = ToEigen(search.current().derivatives.gradient);
  result.hessian = ToEigen(search.current().derivatives.hessian.m);
  result.iterations = search.iterations();
  result.evaluations = search.evaluations();
  result.oscillations = search.oscillations();
  result.reached_iteration_limit = search.reached_iteration_limit();
}

}  // namespace voxloc
