// SPDX-License-Identifier: Apache-2.0
//
// SearchRules: what a search follows, as plain values that host and device share.

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
  bool thinned = false;  // searches with some of the points
  ObservedDirections observed;
};

// Which stages may change the pose. A stage is judged by the sum over the scan's points of each
// point's best pair, under the cells of the score stage, at the pose where the stage ends.
//
// What lies farther from the guess than `doubted_beyond_m` is doubted, since soft cells may have
// led past a place near the guess that looks alike:
// - The last stage before the score stage, where it is not the first that ran, runs once more, from
//   the guess; the sum decides between the two.
// - An answer has to hold against a second attempt (search_answer.h).
struct JudgementRules {
  // Off: every stage is believed.
  bool judged = false;
  // The score stage and those after it may lower the sum by this share of the highest one so far;
  // stages before it must raise the sum, except the one that is repeated: sums that differ by no
  // more are taken for equal, and what is found from the guess is nearer to what is known.
  double allowed_loss = 0.0;
  double doubted_beyond_m = 0.0;
};

struct SearchRules {
  StageRules stage[kMaxStages];
  int stages = 0;       // at least 1
  int score_stage = 0;  // whose cells the scores before and after are of
  int entry = 0;        // the first stage that runs
  JudgementRules judgement;
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
