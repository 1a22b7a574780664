// SPDX-License-Identifier: Apache-2.0
//
// SearchRules: the parameters of a search, as plain values that host and device share.

#ifndef VOXLOC_CORE_NDT_SEARCH_RULES_H_
#define VOXLOC_CORE_NDT_SEARCH_RULES_H_

#include "core/ndt/newton.h"

namespace voxloc::ndt {

constexpr int kMaxStages = 8;

// How a stage steps and when it ends.
struct StageRules {
  double max_step = 0.1;
  double epsilon = 0.01;
  int max_iterations = 30;
  bool step_floor = false;
  bool line_search = false;
  bool accelerated = false;  // by StepAcceleration; without line search or step floor
  bool thinned = false;      // searches with some of the points
  ObservedDirections observed;
};

// Which stages may change the pose. A stage is judged by the sum over the scan's points of each
// point's best pair, under the cells of the score stage, at the pose where the stage ends.
//
// A pose farther from the guess than `recheck_beyond_m` is rechecked, since coarse cells may have
// led past a similar place near the guess:
// - The last stage before the score stage, if it is not the first that ran, runs again from the
//   guess; the sum decides between the two.
// - The result has to win against a second attempt (SecondAttempt).
struct JudgementRules {
  // Off: every stage is accepted.
  bool judged = false;
  // The score stage and later ones may lower the sum by this fraction of the highest so far.
  // Earlier stages must raise it, except a repeated one: sums that differ by no more count as
  // equal, and the pose found from the guess is preferred.
  double allowed_loss = 0.0;
  double recheck_beyond_m = 0.0;
};

// A normal distribution of the pose around the guess, for the directions that a scan does not
// observe (guess_prior.h).
struct GuessPrior {
  bool active = false;
  double covariance[6][6] = {};     // of the chart
  double inverse_variance[6] = {};  // of each entry of its diagonal
  double independent_share = 1.0;   // of the scan's points; over 0
  double observed_share = 0.0;      // over 0
  double rotation_scale_m = 1.0;    // a radian counts as this many metres; over 0
};

struct SearchRules {
  StageRules stage[kMaxStages];
  int stages = 0;       // at least 1
  int score_stage = 0;  // whose cells give the scores before and after
  int entry = 0;        // the first stage that runs
  JudgementRules judgement;
  GuessPrior prior;
  // A reference position, see evaluation.h.
  bool regularized = false;
  bool score_includes_regularization = false;
  double reference_x = 0.0;
  double reference_y = 0.0;
  double regularization_scale = 0.0;
  // Steps are kept for a trace.
  bool traced = false;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SEARCH_RULES_H_
