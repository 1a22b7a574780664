// SPDX-License-Identifier: Apache-2.0
//
// StageSearch: Newton's method within one stage: the direction, the length of the step or the line
// search for it, and the counts that end the stage.

#ifndef VOXLOC_CORE_NDT_STAGE_SEARCH_H_
#define VOXLOC_CORE_NDT_STAGE_SEARCH_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/line_search.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/step_acceleration.h"
#include "core/ndt/symmetric3.h"
#include "core/ndt/termination.h"

namespace voxloc::ndt {

// Detects oscillation: the longest run of consecutive steps that each reverse the one before, by an
// angle of more than acos(-0.9). A step of length zero ends a run.
class OscillationCounter {
 public:
  // Positions in the order visited, the guess first.
  VOXLOC_HD void Visit(const Vector3<double>& position) {
    if (visited_ > 0) {
      const Vector3<double> step = {position.x - last_.x, position.y - last_.y,
                                    position.z - last_.z};
      const double along = Dot(step, step_);
      const bool reversed =
          visited_ > 1 && along < 0.0 &&
          along * along > kReversalCosine * kReversalCosine * (Dot(step, step) * Dot(step_, step_));
      run_ = reversed ? run_ + 1 : 0;
      longest_ = run_ > longest_ ? run_ : longest_;
      step_ = step;
    }
    last_ = position;
    ++visited_;
  }

  VOXLOC_HD int LongestRun() const { return longest_; }

 private:
  static constexpr double kReversalCosine = -0.9;

  Vector3<double> last_;
  Vector3<double> step_;
  int visited_ = 0;
  int run_ = 0;
  int longest_ = 0;
};

class StageSearch {
 public:
  // Starts a stage at the pose `chart`.
  VOXLOC_HD void Begin(const double (&chart)[6]) {
    oscillation_ = OscillationCounter();
    oscillation_.Visit({chart[0], chart[1], chart[2]});
    acceleration_.Restart();
    iterations_ = 0;
  }

  // Chooses the direction of the next step and its first trial length from the derivatives at
  // `chart`, and writes the pose of that trial. False: there is no direction to go.
  VOXLOC_HD bool Propose(const StageRules& rules, const Derivatives& derivatives,
                         const double (&chart)[6], double (&trial_chart)[6]) {
    direction_ = ComputeNewtonDirection(derivatives, rules.observed);
    if (!(direction_.norm > 0.0) || direction_.slope == 0.0) return false;
    NewtonDirection step = direction_;
    if (rules.accelerated) acceleration_.Apply(derivatives.gradient, chart, step);
    const double floor = rules.step_floor ? 0.5 * rules.epsilon : 0.0;
    length_ = ClampStepLength(step.norm, floor, rules.max_step);
    if (rules.line_search) {
      line_ = LineSearch(-derivatives.score, direction_.slope, length_,
                         std::fmax(floor, kMinTrial * rules.epsilon), rules.max_step);
      length_ = line_.Trial();
    }
    for (int i = 0; i < 6; ++i) trial_chart[i] = chart[i] + length_ * step.unit[i];
    return true;
  }

  // Whether the trial with these derivatives is accepted as the step from `chart`. False: the line
  // search requests another trial, whose pose is written.
  VOXLOC_HD bool AcceptsTrial(const StageRules& rules, const Derivatives& derivatives,
                              const double (&chart)[6], double (&trial_chart)[6]) {
    if (!rules.line_search) return true;
    double slope = 0.0;
    for (int i = 0; i < 6; ++i) slope -= derivatives.gradient[i] * direction_.unit[i];
    if (line_.Update(-derivatives.score, slope)) return true;
    length_ = line_.Trial();
    for (int i = 0; i < 6; ++i) trial_chart[i] = chart[i] + length_ * direction_.unit[i];
    return false;
  }

  // Counts the step to the pose `chart`. True: it ends the stage; the termination is written.
  VOXLOC_HD bool RecordStep(const double (&chart)[6], const StageRules& rules,
                            Termination& termination) {
    ++iterations_;
    oscillation_before_ = oscillation_;
    oscillation_.Visit({chart[0], chart[1], chart[2]});
    if (iterations_ >= rules.max_iterations) {
      termination = Termination::kMaxIterations;
      return true;
    }
    if (length_ < rules.epsilon) {
      termination = Termination::kConverged;
      return true;
    }
    return false;
  }

  // Removes the last step from the counts.
  VOXLOC_HD void UndoStep() {
    --iterations_;
    oscillation_ = oscillation_before_;
  }

  // Newton's step where the last one was proposed, and the length of that one.
  VOXLOC_HD const NewtonDirection& direction() const { return direction_; }
  VOXLOC_HD double length() const { return length_; }

  // The longest run of reversals so far.
  VOXLOC_HD int oscillations() const { return oscillation_.LongestRun(); }

 private:
  // Shortest trial of a line search without a step floor, as a share of epsilon.
  static constexpr double kMinTrial = 1e-3;

  NewtonDirection direction_;
  StepAcceleration acceleration_;
  double length_ = 0.0;
  LineSearch line_{0.0, -1.0, 1.0, 0.0, 1.0};
  OscillationCounter oscillation_;
  OscillationCounter oscillation_before_;  // the last step
  int iterations_ = 0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_STAGE_SEARCH_H_
