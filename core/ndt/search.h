// SPDX-License-Identifier: Apache-2.0
//
// Newton's method through the stages of a schedule, as a state machine: it says at which pose, and
// under the cells of which stage, the scan is to be evaluated next, takes the evaluation, and goes
// on. The CPU engine drives it from a loop, a kernel from inside one launch; both therefore step,
// clamp, search along lines and end in the same way.

#ifndef VOXLOC_CORE_NDT_SEARCH_H_
#define VOXLOC_CORE_NDT_SEARCH_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/line_search.h"
#include "core/ndt/newton.h"
#include "core/ndt/oscillation.h"
#include "core/ndt/pose_score.h"
#include "core/ndt/regularization.h"

namespace voxloc {

enum class Termination {
  kConverged,      // the last step was shorter than epsilon
  kMaxIterations,  // the limit of the last stage was reached
  kZeroStep,       // nothing to do, no point met a cell, or no direction was observed
  kNotFinite,      // a number overflowed; the pose is the last finite one
  kCancelled,      // the stop token was raised; the pose is the best so far
  kDeadline,       // its deadline passed; likewise
};

namespace ndt {

constexpr int kMaxStages = 8;

struct StageRules {
  double max_step = 0.1;
  double epsilon = 0.01;
  int max_iterations = 30;
  bool step_floor = false;
  bool line_search = false;
  ObservedDirections observed;
};

struct SearchRules {
  StageRules stage[kMaxStages];
  int stages = 0;       // at least 1
  int score_stage = 0;  // whose cells the scores before and after are of
  // A reference position, see regularization.h.
  bool regularized = false;
  bool score_includes_regularization = false;
  double reference_x = 0.0;
  double reference_y = 0.0;
  double regularization_scale = 0.0;
  // Steps are kept for a trace.
  bool traced = false;
};

// A scan at one pose. Filled without regularisation, which the search adds. Score is PoseScore, or
// PoseSums where divisions are to wait.
template <typename Score>
struct Evaluation {
  Derivatives derivatives;
  Score score;
  bool finite = false;  // IsFinite(derivatives)
};

template <typename Score>
class NewtonSearch {
 public:
  VOXLOC_HD NewtonSearch(const SearchRules& rules, const double (&guess)[6]) {
    for (int i = 0; i < 6; ++i) chart_[i] = wanted_[i] = guess[i];
    if (rules.score_stage != 0) {
      phase_ = Phase::kBefore;
      wanted_stage_ = rules.score_stage;
    }
  }

  // The evaluation wanted, while not done: at this chart, under this stage, to be written to
  // next().
  VOXLOC_HD bool done() const { return phase_ == Phase::kDone; }
  VOXLOC_HD int wanted_stage() const { return wanted_stage_; }
  VOXLOC_HD const double (&wanted() const)[6] { return wanted_; }
  VOXLOC_HD Evaluation<Score>& next() { return evaluations_[1 - current_]; }

  // Takes next(). `interrupt`, if not kConverged, ends the search with that termination; the pose
  // is the best so far.
  VOXLOC_HD void Advance(const SearchRules& rules, Termination interrupt) {
    ++evaluations_count_;
    stepped_ = false;
    Evaluation<Score>& evaluation = next();
    if (rules.regularized) Regularize(rules, evaluation);
    bool goes_on = false;
    switch (phase_) {
      case Phase::kBefore:
        before_ = evaluation.score;
        phase_ = Phase::kBeginStage;
        wanted_stage_ = 0;
        break;
      case Phase::kBeginStage:
        BeginStage(rules);
        goes_on = true;
        break;
      case Phase::kTrial:
        goes_on = TakeTrial(rules, interrupt);
        break;
      case Phase::kAfter:
        after_ = evaluation.score;
        phase_ = Phase::kDone;
        break;
      case Phase::kDone:
        break;
    }
    if (goes_on) Iterate(rules, interrupt);
  }

  // What came of it. The pose and the evaluation there are valid after the first Advance.
  VOXLOC_HD const double (&chart() const)[6] { return chart_; }
  VOXLOC_HD const Evaluation<Score>& current() const { return evaluations_[current_]; }
  VOXLOC_HD const Score& before() const { return before_; }
  VOXLOC_HD const Score& after() const { return after_; }
  VOXLOC_HD Termination termination() const { return termination_; }
  VOXLOC_HD int iterations() const { return iterations_; }
  VOXLOC_HD int evaluations() const { return evaluations_count_; }
  VOXLOC_HD int oscillations() const { return oscillations_; }
  VOXLOC_HD bool reached_iteration_limit() const { return reached_iteration_limit_; }

  // Whether the last Advance completed an iteration; and, where rules.traced, that iteration: the
  // stage, the pose and evaluation it started from, its direction and the length of its step, which
  // led to chart().
  VOXLOC_HD bool stepped() const { return stepped_; }
  VOXLOC_HD int step_stage() const { return step_stage_; }
  VOXLOC_HD const double (&step_from() const)[6] { return from_; }
  VOXLOC_HD const Evaluation<Score>& step_evaluation() const { return evaluations_[1 - current_]; }
  VOXLOC_HD const NewtonDirection& step_direction() const { return taken_; }
  VOXLOC_HD double step_length() const { return length_; }

 private:
  enum class Phase { kBefore, kBeginStage, kTrial, kAfter, kDone };

  // Shortest trial of a line search without a step floor, as a share of epsilon.
  static constexpr double kSmallestTrial = 1e-3;

  VOXLOC_HD void Regularize(const SearchRules& rules, Evaluation<Score>& evaluation) const {
    Score& score = evaluation.score;
    const double weight = rules.regularization_scale * static_cast<double>(score.pairs);
    const double added = AddRegularization(rules.reference_x, rules.reference_y, wanted_, weight,
                                           evaluation.derivatives);
    if (rules.score_includes_regularization) score.AddToScore(added);
  }

  VOXLOC_HD void Accept() { current_ = 1 - current_; }

  VOXLOC_HD void BeginStage(const SearchRules& rules) {
    Accept();
    if (wanted_stage_ == 0 && rules.score_stage == 0) before_ = current().score;
    oscillation_ = OscillationCounter();
    oscillation_.Visit({chart_[0], chart_[1], chart_[2]});
    reached_iteration_limit_ = false;
    stage_iterations_ = 0;
  }

  // From an evaluation at chart_ to the next trial.
  VOXLOC_HD void Iterate(const SearchRules& rules, Termination interrupt) {
    if (!current().finite) return EndStage(rules, Termination::kNotFinite);
    if (interrupt != Termination::kConverged) return EndStage(rules, interrupt);
    const StageRules& stage = rules.stage[wanted_stage_];
    const NewtonDirection direction = ComputeNewtonDirection(current().derivatives, stage.observed);
    if (!(direction.norm > 0.0) || direction.slope == 0.0) {
      return EndStage(rules, Termination::kZeroStep);
    }
    const double floor = stage.step_floor ? 0.5 * stage.epsilon : 0.0;
    trial_ = ClampStepLength(direction.norm, floor, stage.max_step);
    if (stage.line_search) {
      line_ = LineSearch(-current().derivatives.score, direction.slope, trial_,
                         std::fmax(floor, kSmallestTrial * stage.epsilon), stage.max_step);
      trial_ = line_.Trial();
    }
    phase_ = Phase::kTrial;
    for (int i = 0; i < 6; ++i) wanted_[i] = chart_[i] + trial_ * direction.unit[i];
    direction_ = direction;
  }

  // Whether the trial is taken and the stage goes on.
  VOXLOC_HD bool TakeTrial(const SearchRules& rules, Termination interrupt) {
    const StageRules& stage = rules.stage[wanted_stage_];
    const Evaluation<Score>& evaluation = next();
    if (!evaluation.finite) {
      EndStage(rules, Termination::kNotFinite);
      return false;
    }
    if (stage.line_search && !EndsLineSearch(evaluation)) {
      if (interrupt != Termination::kConverged) EndStage(rules, interrupt);
      return false;
    }
    if (rules.traced) {
      step_stage_ = wanted_stage_;
      taken_ = direction_;
      for (int i = 0; i < 6; ++i) from_[i] = chart_[i];
    }
    stepped_ = true;
    for (int i = 0; i < 6; ++i) chart_[i] = wanted_[i];
    length_ = trial_;
    Accept();
    ++iterations_;
    ++stage_iterations_;
    oscillation_.Visit({chart_[0], chart_[1], chart_[2]});
    if (stage_iterations_ >= stage.max_iterations) {
      reached_iteration_limit_ = true;
      EndStage(rules, Termination::kMaxIterations);
      return false;
    }
    if (length_ < stage.epsilon) {
      EndStage(rules, Termination::kConverged);
      return false;
    }
    return true;
  }

  // False: the line search wants another trial, which is set.
  VOXLOC_HD bool EndsLineSearch(const Evaluation<Score>& evaluation) {
    double slope = 0.0;
    for (int i = 0; i < 6; ++i) {
      slope -= evaluation.derivatives.gradient[i] * direction_.unit[i];
    }
    if (line_.Update(-evaluation.derivatives.score, slope)) return true;
    trial_ = line_.Trial();
    for (int i = 0; i < 6; ++i) wanted_[i] = chart_[i] + trial_ * direction_.unit[i];
    return false;
  }

  VOXLOC_HD void EndStage(const SearchRules& rules, Termination termination) {
    termination_ = termination;
    oscillations_ = oscillation_.Longest();
    for (int i = 0; i < 6; ++i) wanted_[i] = chart_[i];
    const bool may_continue = termination == Termination::kConverged ||
                              termination == Termination::kMaxIterations ||
                              termination == Termination::kZeroStep;
    if (may_continue && wanted_stage_ + 1 < rules.stages) {
      ++wanted_stage_;
      phase_ = Phase::kBeginStage;
    } else if (wanted_stage_ == rules.score_stage) {
      after_ = current().score;
      phase_ = Phase::kDone;
    } else {
      wanted_stage_ = rules.score_stage;
      phase_ = Phase::kAfter;
    }
  }

  Phase phase_ = Phase::kBeginStage;
  int wanted_stage_ = 0;
  double wanted_[6];
  double chart_[6];
  Evaluation<Score> evaluations_[2];
  int current_ = 0;

  NewtonDirection direction_;
  double trial_ = 0.0;
  LineSearch line_{0.0, -1.0, 1.0, 0.0, 1.0};
  OscillationCounter oscillation_;
  int stage_iterations_ = 0;

  Score before_;
  Score after_;
  Termination termination_ = Termination::kConverged;
  int iterations_ = 0;
  int evaluations_count_ = 0;
  int oscillations_ = 0;
  bool reached_iteration_limit_ = false;

  bool stepped_ = false;
  int step_stage_ = 0;
  double from_[6] = {};
  NewtonDirection taken_;
  double length_ = 0.0;
};

}  // namespace ndt
}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_SEARCH_H_
