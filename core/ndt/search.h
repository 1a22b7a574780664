// SPDX-License-Identifier: Apache-2.0
//
// NewtonSearch: the stages of a schedule one after another, as a state machine: it says at which
// pose, and under the cells of which stage, the scan is to be evaluated next, takes the evaluation,
// and goes on. The CPU engine drives it from a loop, a kernel from inside one launch; both
// therefore step, clamp, search along lines and end in the same way.

#ifndef VOXLOC_CORE_NDT_SEARCH_H_
#define VOXLOC_CORE_NDT_SEARCH_H_

#include "core/ndt/evaluation.h"
#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/stage_search.h"
#include "core/ndt/termination.h"

namespace voxloc {
namespace ndt {

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

  // Takes next(). An interrupt ends the search with its termination; the pose is the best so far.
  VOXLOC_HD void Advance(const SearchRules& rules, Interrupt interrupt) {
    ++evaluations_count_;
    stepped_ = false;
    Evaluation<Score>& evaluation = next();
    if (rules.regularized) Regularize(rules, wanted_, evaluation);
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

  // The result. The pose and the evaluation there are valid after the first Advance.
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

  VOXLOC_HD void Accept() { current_ = 1 - current_; }

  VOXLOC_HD void BeginStage(const SearchRules& rules) {
    Accept();
    if (wanted_stage_ == 0 && rules.score_stage == 0) before_ = current().score;
    stage_.Begin(chart_);
    reached_iteration_limit_ = false;
  }

  // From an evaluation at chart_ to the next trial.
  VOXLOC_HD void Iterate(const SearchRules& rules, Interrupt interrupt) {
    if (!current().finite) return EndStage(rules, Termination::kNotFinite);
    if (interrupt != Interrupt::kNone) return EndStage(rules, TerminationBy(interrupt));
    if (!stage_.Propose(rules.stage[wanted_stage_], current().derivatives, chart_, wanted_)) {
      return EndStage(rules, Termination::kZeroStep);
    }
    phase_ = Phase::kTrial;
  }

  // Whether the trial is taken and the stage goes on.
  VOXLOC_HD bool TakeTrial(const SearchRules& rules, Interrupt interrupt) {
    const StageRules& stage = rules.stage[wanted_stage_];
    const Evaluation<Score>& evaluation = next();
    if (!evaluation.finite) {
      EndStage(rules, Termination::kNotFinite);
      return false;
    }
    if (!stage_.AcceptsTrial(stage, evaluation.derivatives, chart_, wanted_)) {
      if (interrupt != Interrupt::kNone) EndStage(rules, TerminationBy(interrupt));
      return false;
    }
    KeepStep(rules);
    for (int i = 0; i < 6; ++i) chart_[i] = wanted_[i];
    Accept();
    ++iterations_;
    Termination termination = Termination::kConverged;
    if (!stage_.EndsWithStepTo(chart_, stage, termination)) return true;
    reached_iteration_limit_ = termination == Termination::kMaxIterations;
    EndStage(rules, termination);
    return false;
  }

  VOXLOC_HD void KeepStep(const SearchRules& rules) {
    stepped_ = true;
    if (!rules.traced) return;
    step_stage_ = wanted_stage_;
    taken_ = stage_.direction();
    length_ = stage_.length();
    for (int i = 0; i < 6; ++i) from_[i] = chart_[i];
  }

  VOXLOC_HD void EndStage(const SearchRules& rules, Termination termination) {
    termination_ = termination;
    oscillations_ = stage_.oscillations();
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
  StageSearch stage_;

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
