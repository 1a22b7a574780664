// SPDX-License-Identifier: Apache-2.0
//
// One step of a search, for those who look at how a pose was found. A plain value.

#ifndef VOXLOC_CORE_ENGINE_ITERATION_TRACE_H_
#define VOXLOC_CORE_ENGINE_ITERATION_TRACE_H_

#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/geometry/pose.h"
#include "core/ndt/pose_score.h"

namespace voxloc {

struct IterationTrace {
  int stage = 0;
  Pose map_T_base;  // at which the following were evaluated
  PoseScore score;
  ChartVector gradient = ChartVector::Zero();
  Matrix6 hessian = Matrix6::Zero();
  ChartVector newton_step = ChartVector::Zero();  // as solved, before clamping and reversal
  double newton_step_norm = 0.0;
  double step_length = 0.0;
  bool reversed = false;
  double slope = 0.0;  // of the negative score along newton_step, reversed where it says so
  Pose map_T_base_after;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_ITERATION_TRACE_H_
