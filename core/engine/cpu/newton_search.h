// SPDX-License-Identifier: Apache-2.0
//
// The search on the host: Newton's method through the stages of a profile, for engines that
// evaluate a scan at one pose at a time. Thread-safe as far as the evaluator is.

#ifndef VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_
#define VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_

#include "core/engine/align.h"
#include "core/geometry/euler.h"
#include "core/ndt/search.h"

namespace voxloc {

// A scan at one pose: without regularisation. `finite` need not be filled.
using Evaluation = ndt::Evaluation<PoseScore>;

class PoseEvaluator {
 public:
  virtual ~PoseEvaluator() = default;
  // The evaluations that follow use this stage's cells and rules.
  virtual void BeginStage(const Stage& stage) = 0;
  [[nodiscard]] virtual Evaluation Evaluate(const ChartVector& chart) = 0;
};

// From the plain arrays of core/ndt.
[[nodiscard]] inline ChartVector ToEigen(const double (&vector)[6]) {
  return Eigen::Map<const ChartVector>(vector);
}
[[nodiscard]] inline Matrix6 ToEigen(const double (&matrix)[6][6]) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(&matrix[0][0]);
}

// What ndt::NewtonSearch needs of a job. The profile must be valid.
[[nodiscard]] ndt::SearchRules RulesOf(const AlignJob& job);

// What a radian counts as where rotations are counted by how far they move the scan's points,
// metres: the root mean square distance of the points from the base, at least 0.1.
[[nodiscard]] double RotationScaleOf(const PointCloud& scan_base);

// What a search that looks at the stop token now is told: kConverged while it may go on.
[[nodiscard]] Termination InterruptOf(const StopToken& stop);

// One iteration: evaluated at the chart `from`, it led by a step of `length` to `after`.
struct IterationParts {
  int stage;
  const double (&from)[6];
  const double (&after)[6];
  PoseScore score;
  const double (&gradient)[6];
  const double (&hessian)[6][6];
  const ndt::NewtonDirection& direction;
  double length;
};
[[nodiscard]] IterationTrace MakeTrace(const IterationParts& parts);

// Runs all stages and fills everything of `result` but `point_scores`.
void RunSchedule(const AlignJob& job, PoseEvaluator& evaluator, AlignResult& result);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_CPU_NEWTON_SEARCH_H_
