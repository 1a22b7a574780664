// SPDX-License-Identifier: Apache-2.0
//
// One Newton iteration between two evaluations: direction, slope, step length, and when to stop.
//
// The score is maximised; phi(a) = -score(p + a d) is what falls along the unit direction d.

#ifndef VOXLOC_CORE_NDT_NEWTON_H_
#define VOXLOC_CORE_NDT_NEWTON_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/solve6.h"

namespace voxloc::ndt {

// Score and its derivatives in the chart at one pose. The score is maximised.
struct Derivatives {
  double score = 0.0;
  double gradient[6] = {};
  Matrix6x6 hessian = {};
};

struct NewtonDirection {
  double unit[6] = {};    // along which phi falls
  double norm = 0.0;      // length of the full Newton step, metres and radians mixed
  double slope = 0.0;     // phi'(0) along `unit`, never positive
  bool reversed = false;  // the Newton step pointed uphill in phi and was negated
};

VOXLOC_HD bool IsFinite(const Derivatives& d) {
  double sum = d.score;
  for (int i = 0; i < 6; ++i) {
    sum += d.gradient[i];
    for (int j = 0; j < 6; ++j) sum += d.hessian.m[i][j];
  }
  return std::isfinite(sum);
}

VOXLOC_HD NewtonDirection ComputeNewtonDirection(const Derivatives& at_pose,
                                                 const ObservedDirections& observed = {}) {
  NewtonDirection direction;
  double step[6];
  SolveNewtonStep(at_pose.hessian, at_pose.gradient, step, observed);
  double squared = 0.0;
  for (int i = 0; i < 6; ++i) squared += step[i] * step[i];
  if (!(squared > 0.0)) return direction;
  const auto [length, inverse] = LengthOf(squared);
  direction.norm = length;
  for (int i = 0; i < 6; ++i) {
    direction.unit[i] = step[i] * inverse;
    direction.slope -= at_pose.gradient[i] * direction.unit[i];
  }
  if (direction.slope > 0.0) {
    direction.reversed = true;
    direction.slope = -direction.slope;
    for (int i = 0; i < 6; ++i) direction.unit[i] = -direction.unit[i];
  }
  return direction;
}

// min(norm, max_step), raised to min_step. A positive min_step is the reference's floor of half its
// epsilon: short steps near the optimum are stretched to it.
VOXLOC_HD double ClampStepLength(double norm, double min_step, double max_step) {
  return std::fmax(std::fmin(norm, max_step), min_step);
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_NEWTON_H_
