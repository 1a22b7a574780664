// SPDX-License-Identifier: Apache-2.0
//
// The search on the host: Newton's method through the stages of a profile, for engines that
// evaluate a scan at one pose at a time. Thread-safe as far as the evaluator is.

#ifndef VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_
#define VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_

#include "core/engine/align.h"
#include "core/geometry/euler.h"
#include "core/ndt/evaluation.h"
#include "core/ndt/pose_score.h"
#include "core/ndt/search_rules.h"

namespace voxloc {

// A scan at one pose: without regularisation. `finite` need not be filled.
using Evaluation = ndt::Evaluation<PoseScore>;

class PoseEvaluator {
 public:
  virtual ~PoseEvaluator() = default;
  // The evaluations that follow use the cells and rules of this stage of the job's profile.
  virtual void BeginStage(size_t stage) = 0;
  // With the points that the stage searches with, or with all.
  [[nodiscard]] virtual Evaluation Evaluate(const ChartVector& chart, bool all_points) = 0;
};

// Runs all stages by the rules, which are MakeSearchRules(job), and fills everything of `result`
// but `point_scores`.
void RunSchedule(const AlignJob& job, const ndt::SearchRules& rules, PoseEvaluator& evaluator,
                 AlignResult& result);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_
