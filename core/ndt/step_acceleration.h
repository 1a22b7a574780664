// SPDX-License-Identifier: Apache-2.0
//
// StepAcceleration: Anderson acceleration of depth one (Anderson, "Iterative Procedures for
// Nonlinear Integral Equations", 1965) of the steps of reweighted least squares, which converge
// linearly.
//
// Let f(x) be Newton's step at the pose x. Two poses x' and x of the search show how f changes
// along x - x'. As if it were linear there, f is shortest at x - g (x - x') for
//   g = <f(x), f(x) - f(x')> / |f(x) - f(x')|^2,
// and the step goes from there on by what is left of f:
//   step = f(x) - g (x - x' + f(x) - f(x')).
// Poses are charts and lengths those of steps, in metres and radians. An optimum stays one: f and
// with it the step are zero there.

#ifndef VOXLOC_CORE_NDT_STEP_ACCELERATION_H_
#define VOXLOC_CORE_NDT_STEP_ACCELERATION_H_

#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"

namespace voxloc::ndt {

class StepAcceleration {
 public:
  // Before the first step of a stage.
  VOXLOC_HD void Restart() { has_last_ = false; }

  // Replaces Newton's step at the pose `chart`, once for each pose of the stage in turn. It stays
  // where it is the first, long, or points downhill, and where the accelerated one would be long or
  // lose height.
  VOXLOC_HD void Apply(const double (&gradient)[6], const double (&chart)[6],
                       NewtonDirection& step) {
    double change[6];  // of f
    double moved[6];   // x - x' + change
    double along = 0.0;
    double squared_change = 0.0;
    for (int i = 0; i < 6; ++i) {
      const double f = step.norm * step.unit[i];
      change[i] = f - last_step_[i];
      moved[i] = chart[i] - last_chart_[i] + change[i];
      along += f * change[i];
      squared_change += change[i] * change[i];
      last_step_[i] = f;
      last_chart_[i] = chart[i];
    }
    const bool usable =
        has_last_ && step.norm < kMaxLength && !step.reversed && squared_change > 0.0;
    has_last_ = true;
    if (!usable) return;
    const double back = along * Reciprocal(squared_change);
    double accelerated[6];
    double squared = 0.0;
    double slope = 0.0;
    for (int i = 0; i < 6; ++i) {
      accelerated[i] = last_step_[i] - back * moved[i];
      squared += accelerated[i] * accelerated[i];
      slope -= gradient[i] * accelerated[i];
    }
    if (!(slope < 0.0 && squared < kMaxGrowth * kMaxGrowth * step.norm * step.norm)) return;
    const auto [length, inverse] = LengthOf(squared);
    if (!(length < kMaxLength)) return;
    step.norm = length;
    step.slope = slope * inverse;
    for (int i = 0; i < 6; ++i) step.unit[i] = accelerated[i] * inverse;
  }

 private:
  // Longer steps are not accelerated, nor steps to such: they lead past optima. Both limits by the
  // choosing list (docs/notes/precise_design.md): without this one, 10 of 720 searches that begin
  // near the truth in a garage end on its other storey; with three times the length in place of
  // ten, searches take two fifths more iterations where scans are distorted.
  static constexpr double kMaxLength = 0.05;
  // Over the step that is replaced.
  static constexpr double kMaxGrowth = 10.0;

  double last_step_[6] = {};
  double last_chart_[6] = {};
  bool has_last_ = false;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_STEP_ACCELERATION_H_
