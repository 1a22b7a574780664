// SPDX-License-Identifier: Apache-2.0
//
// NewtonSearch: runs the stages of a schedule as a state machine. It requests an evaluation of the
// scan at a pose under the cells of a stage, consumes it in Advance, and requests the next. The CPU
// engine drives it from a loop, the CUDA engine inside one kernel launch; both share all rules of
// stepping, clamping, line search, judgement and termination.
//
// With judgement (JudgementRules), a stage whose final score is too low is undone, and the next
// stage begins at the best pose so far: the search ends no worse than it began, up to the allowed
// loss. If it has led far from the guess, stages run a second time from the guess.

#ifndef VOXLOC_CORE_NDT_SEARCH_H_
#define VOXLOC_CORE_NDT_SEARCH_H_

#include "core/ndt/evaluation.h"
#include "core/ndt/guess_prior.h"
#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_candidate.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/stage_search.h"
#include "core/ndt/termination.h"

namespace voxloc::ndt {

// One iteration of a stage: from an evaluation at the chart `from`, where `direction` is Newton's,
// a step of `length` led to `after`.
struct IterationRecord {
  int stage;
  double from[6];
  double gradient[6];
  double hessian[6][6];
  NewtonDirection direction;
  double length;
  double after[6];
};

template <typename Score>
class NewtonSearch {
 public:
  VOXLOC_HD NewtonSearch(const SearchRules& rules, const double (&guess)[6])
      : requested_stage_(rules.score_stage) {
    for (int i = 0; i < 6; ++i) chart_[i] = requested_chart_[i] = guess_[i] = guess[i];
  }

  // The requested evaluation, while not done: the chart and the stage. Its result goes to next().
  VOXLOC_HD bool done() const { return phase_ == Phase::kDone; }
  VOXLOC_HD int requested_stage() const { return requested_stage_; }
  VOXLOC_HD const double (&requested_chart() const)[6] { return requested_chart_; }
  // Whether to evaluate all points although the stage searches with fewer.
  VOXLOC_HD bool uses_all_points() const {
    return phase_ != Phase::kBeginStage && phase_ != Phase::kTrial;
  }
  VOXLOC_HD Evaluation<Score>& next() { return evaluations_[1 - current_]; }

  // Optional, while an evaluation runs: computes the prior at its trial and applies the trial as
  // the step already, where the stage accepts any finite trial, to shorten Advance. Advance does it
  // otherwise. Called by all lanes, as Advance is; the rest of the search by the first one.
  template <typename Lanes = OneLane>
  VOXLOC_HD void StepAhead(const SearchRules& rules, Lanes lanes = {}) {
    if (phase_ != Phase::kTrial) return;
    if (rules.prior.active) PullAhead(rules, lanes);
    if (lanes.index != 0 || rules.stage[requested_stage_].line_search) return;
    ApplyStep(rules);
    predicted_ = !step_ends_stage_;
  }

  // Consumes next(). An interrupt ends the search with its termination at the best pose so far.
  template <typename Lanes = OneLane>
  VOXLOC_HD void Advance(const SearchRules& rules, Interrupt interrupt, Lanes lanes = {}) {
    if (rules.prior.active || rules.regularized) AddTerms(rules, lanes);
    if (lanes.index != 0) return;
    ++evaluations_count_;
    pulled_ = false;
    const bool predicted = predicted_ && next().finite && interrupt == Interrupt::kNone;
    predicted_ = false;
    if (predicted) FinishStep();
    if ((predicted || HandleEvaluation(rules, interrupt)) && Propose(rules)) return;
    // A stage that ended under the cells of the score stage is scored already.
    if (phase_ == Phase::kStageEnded) Judge(rules, current().score, interrupt);
  }

  // The result, once done. The pose is also valid after every Advance.
  VOXLOC_HD const double (&chart() const)[6] { return chart_; }
  // Once done: the evaluation at chart() under the cells of result_stage(), or of the score stage
  // for the guess, without the prior.
  VOXLOC_HD const Evaluation<Score>& current() const { return evaluations_[current_]; }
  VOXLOC_HD int result_stage() const { return best_.candidate().stage; }  // -1: it is the guess
  VOXLOC_HD const Score& before() const { return before_; }
  VOXLOC_HD const Score& after() const { return best_.candidate().score; }
  VOXLOC_HD Termination termination() const {
    return stopped_ ? stopped_by_ : best_.candidate().termination;
  }
  VOXLOC_HD int iterations() const { return iterations_; }
  VOXLOC_HD int evaluations() const { return evaluations_count_; }
  VOXLOC_HD int oscillations() const { return best_.candidate().oscillations; }
  VOXLOC_HD bool reached_iteration_limit() const {
    return best_.candidate().reached_iteration_limit;
  }

  // Whether the last Advance completed an iteration; and, where rules.traced, that iteration with
  // the score that it started from.
  VOXLOC_HD bool stepped() const { return stepped_; }
  VOXLOC_HD void WriteStep(IterationRecord& record) const {
    const Derivatives& derivatives = evaluations_[1 - current_].derivatives;
    record.stage = step_stage_;
    for (int i = 0; i < 6; ++i) {
      record.from[i] = from_[i];
      record.gradient[i] = derivatives.gradient[i];
      for (int j = 0; j < 6; ++j) record.hessian[i][j] = derivatives.hessian.m[i][j];
      record.after[i] = to_[i];
    }
    record.direction = step_direction_;
    record.length = step_length_;
  }
  VOXLOC_HD const Score& step_score() const { return evaluations_[1 - current_].score; }

 private:
  enum class Phase { kBefore, kBeginStage, kTrial, kStageEnded, kJudge, kEvaluateResult, kDone };

  VOXLOC_HD void Accept() { current_ = 1 - current_; }

  VOXLOC_HD void RequestEvaluation(const double (&chart)[6], int stage) {
    for (int i = 0; i < 6; ++i) requested_chart_[i] = chart[i];
    requested_stage_ = stage;
  }

  // Enters a stage at chart_. True: it begins with next(), which is the evaluation there.
  VOXLOC_HD_RARE bool EnterStage(const SearchRules& rules, int stage, bool evaluated) {
    RequestEvaluation(chart_, stage);
    if (evaluated && IsEvaluated(rules, stage)) {
      BeginStage();
      return true;
    }
    phase_ = Phase::kBeginStage;
    return false;
  }

  // Whether a stage that begins at next() needs no evaluation of its own.
  VOXLOC_HD static bool IsEvaluated(const SearchRules& rules, int stage) {
    return stage == rules.score_stage && !rules.stage[stage].thinned;
  }

  VOXLOC_HD void BeginStage() {
    Accept();
    stage_.Begin(chart_);
    weight_ = 1 - weight_;
  }

  template <typename Lanes>
  VOXLOC_HD_RARE void PullAhead(const SearchRules& rules, Lanes lanes) {
    PullToGuess(rules.prior, weights_[weight_], guess_, requested_chart_, lanes,
                pulls_[1 - current_]);
    if (lanes.index == 0) pulled_ = true;
  }

  // Adds regularisation and prior to next(). A stage that may begin there gets its weight.
  template <typename Lanes>
  VOXLOC_HD_RARE void AddTerms(const SearchRules& rules, Lanes lanes) {
    if (rules.regularized && lanes.index == 0) Regularize(rules, requested_chart_, next());
    lanes.Sync();
    const bool trial = phase_ == Phase::kTrial;
    const bool begins = phase_ == Phase::kBeginStage ||
                        (phase_ == Phase::kBefore && IsEvaluated(rules, rules.entry)) ||
                        (phase_ == Phase::kJudge && IsEvaluated(rules, ended_stage_ + 1));
    if (rules.prior.active && (trial || begins)) {
      Derivatives& derivatives = next().derivatives;
      GuessPull& pull = pulls_[1 - current_];
      Matrix6x6& weight = weights_[trial ? weight_ : 1 - weight_];
      if (begins) WeighGuess(rules.prior, derivatives.hessian, lanes, weight);
      if (!pulled_) PullToGuess(rules.prior, weight, guess_, requested_chart_, lanes, pull);
      AddPull(pull, weight, 1.0, lanes, derivatives);
    }
    lanes.Sync();
  }

  // True: the stage continues, or another begins, from the evaluation at chart_.
  VOXLOC_HD_RARE bool HandleEvaluation(const SearchRules& rules, Interrupt interrupt) {
    stepped_ = false;
    const bool continues =
        phase_ == Phase::kTrial ? HandleTrial(rules, interrupt) : HandleNonTrial(rules, interrupt);
    if (!continues) return false;
    if (current().finite && interrupt == Interrupt::kNone) return true;
    EndStage(rules, current().finite ? TerminationFor(interrupt) : Termination::kNotFinite);
    return false;
  }

  // From an evaluation at chart_ to the next trial.
  VOXLOC_HD bool Propose(const SearchRules& rules) {
    if (!stage_.Propose(rules.stage[requested_stage_], current().derivatives, chart_,
                        requested_chart_)) {
      EndStage(rules, Termination::kZeroStep);
      return false;
    }
    phase_ = Phase::kTrial;
    return true;
  }

  // Handles an evaluation that is not a trial. True: a stage begins with it.
  VOXLOC_HD_RARE bool HandleNonTrial(const SearchRules& rules, Interrupt interrupt) {
    const Score& score = next().score;
    switch (phase_) {
      case Phase::kBefore:
        before_ = score;
        best_.Begin(chart_, before_);
        return EnterStage(rules, rules.entry, /*evaluated=*/true);
      case Phase::kBeginStage:
        BeginStage();
        return true;
      case Phase::kJudge:
        return Judge(rules, score, interrupt);
      case Phase::kEvaluateResult:
        Accept();
        phase_ = Phase::kDone;
        return false;
      case Phase::kTrial:
      case Phase::kStageEnded:
      case Phase::kDone:
        break;
    }
    return false;
  }

  // Whether the trial is accepted and the stage continues.
  VOXLOC_HD bool HandleTrial(const SearchRules& rules, Interrupt interrupt) {
    const StageRules& stage = rules.stage[requested_stage_];
    const Evaluation<Score>& evaluation = next();
    if (!evaluation.finite) {
      UndoStep();
      EndStage(rules, Termination::kNotFinite);
      return false;
    }
    if (!step_applied_) {
      if (!stage_.AcceptsTrial(stage, evaluation.derivatives, chart_, requested_chart_)) {
        if (interrupt != Interrupt::kNone) EndStage(rules, TerminationFor(interrupt));
        return false;
      }
      ApplyStep(rules);
    }
    FinishStep();
    if (!step_ends_stage_) return true;
    EndStage(rules, step_ends_by_);
    return false;
  }

  VOXLOC_HD void ApplyStep(const SearchRules& rules) {
    if (rules.traced) TraceStep();
    for (int i = 0; i < 6; ++i) from_[i] = chart_[i];
    for (int i = 0; i < 6; ++i) chart_[i] = requested_chart_[i];
    step_ends_stage_ = stage_.RecordStep(chart_, rules.stage[requested_stage_], step_ends_by_);
    step_applied_ = true;
  }

  // With the evaluation of the step.
  VOXLOC_HD void FinishStep() {
    step_applied_ = false;
    stepped_ = true;
    Accept();
    ++iterations_;
  }

  // Undoes the step of StepAhead, if any.
  VOXLOC_HD_RARE void UndoStep() {
    if (!step_applied_) return;
    step_applied_ = false;
    for (int i = 0; i < 6; ++i) chart_[i] = from_[i];
    stage_.UndoStep();
  }

  VOXLOC_HD_RARE void TraceStep() {
    step_stage_ = requested_stage_;
    step_direction_ = stage_.direction();
    step_length_ = stage_.length();
    for (int i = 0; i < 6; ++i) to_[i] = requested_chart_[i];
  }

  VOXLOC_HD_RARE void EndStage(const SearchRules& rules, Termination termination) {
    ended_stage_ = requested_stage_;
    ended_by_ = termination;
    const bool continues = termination == Termination::kConverged ||
                           termination == Termination::kMaxIterations ||
                           termination == Termination::kZeroStep;
    if (!continues) {
      stopped_ = true;
      stopped_by_ = termination;
    }
    if (continues && !rules.judgement.judged && ended_stage_ + 1 < rules.stages) {
      EnterStage(rules, ended_stage_ + 1, /*evaluated=*/false);
    } else if (ended_stage_ == rules.score_stage && !rules.stage[ended_stage_].thinned) {
      phase_ = Phase::kStageEnded;
    } else {
      RequestEvaluation(chart_, rules.score_stage);
      phase_ = Phase::kJudge;
    }
  }

  // Accepts or undoes the stage that ended at chart_ with this score. True: a stage begins with
  // next().
  VOXLOC_HD_RARE bool Judge(const SearchRules& rules, const Score& score, Interrupt interrupt) {
    SearchCandidate<Score> offered;
    for (int i = 0; i < 6; ++i) offered.chart[i] = chart_[i];
    offered.score = score;
    offered.stage = ended_stage_;
    offered.repeated = repeating_;
    offered.termination = ended_by_;
    offered.oscillations = stage_.oscillations();
    offered.reached_iteration_limit = ended_by_ == Termination::kMaxIterations;
    const bool taken = best_.TryReplace(rules, offered);
    if (!taken) {
      for (int i = 0; i < 6; ++i) chart_[i] = best_.candidate().chart[i];
    }
    const bool last = stopped_ || ended_stage_ + 1 == rules.stages;
    if (!last && interrupt != Interrupt::kNone) {
      stopped_ = true;
      stopped_by_ = TerminationFor(interrupt);
    }
    if (!last && !stopped_) {
      if (ShouldRepeatStage(rules)) {
        repeating_ = true;
        for (int i = 0; i < 6; ++i) chart_[i] = guess_[i];
        return EnterStage(rules, ended_stage_, /*evaluated=*/false);
      }
      repeating_ = false;
      const bool evaluated = taken && phase_ == Phase::kJudge;
      return EnterStage(rules, ended_stage_ + 1, evaluated);
    }
    EndAttempt(rules, interrupt, taken);
    return false;
  }

  // Whether the best pose so far, chart_, is so far from the guess that it needs a second attempt.
  VOXLOC_HD bool NeedsRecheck(const SearchRules& rules) const {
    if (!rules.judgement.judged) return false;
    double squared = 0.0;
    for (int i = 0; i < 3; ++i) squared += (chart_[i] - guess_[i]) * (chart_[i] - guess_[i]);
    return squared > rules.judgement.recheck_beyond_m * rules.judgement.recheck_beyond_m;
  }

  // Whether the stage that ended is to run again from the guess.
  VOXLOC_HD bool ShouldRepeatStage(const SearchRules& rules) const {
    return !repeating_ && ended_stage_ + 1 == rules.score_stage && rules.entry < ended_stage_ &&
           NeedsRecheck(rules);
  }

  // Ends the attempt at its best pose, chart_. `evaluated`: the last stage ended there.
  VOXLOC_HD void EndAttempt(const SearchRules& rules, Interrupt interrupt, bool evaluated) {
    const bool found = !stopped_ && best_.candidate().stage >= 0;
    const double weight = current().score.BestSum();  // where the last stage ended, if not stopped
    if (second_attempt_.begun()) {
      if (!found || second_attempt_.FirstOutweighs(rules, weight)) {
        return FinishWith(rules, second_attempt_.first());
      }
    } else if (found && rules.entry < rules.score_stage && NeedsRecheck(rules)) {
      if (interrupt == Interrupt::kNone) return BeginSecondAttempt(rules, weight);
      stopped_ = true;
      stopped_by_ = TerminationFor(interrupt);
    }
    if (!evaluated) return FinishWith(rules, best_.candidate());
    if (rules.prior.active) {
      AddPull(pulls_[current_], weights_[weight_], -1.0, OneLane{},
              evaluations_[current_].derivatives);
    }
    RequestEvaluation(chart_, StageOf(rules, best_.candidate()));
    phase_ = Phase::kDone;
  }

  VOXLOC_HD void BeginSecondAttempt(const SearchRules& rules, double first_weight) {
    second_attempt_.Begin(best_.candidate(), first_weight);
    for (int i = 0; i < 6; ++i) chart_[i] = guess_[i];
    best_.Begin(guess_, before_);
    EnterStage(rules, rules.score_stage, /*evaluated=*/false);
  }

  // Ends the search with this candidate after one more evaluation of it.
  VOXLOC_HD void FinishWith(const SearchRules& rules, const SearchCandidate<Score>& candidate) {
    best_.Replace(candidate);
    for (int i = 0; i < 6; ++i) chart_[i] = best_.candidate().chart[i];
    RequestEvaluation(chart_, StageOf(rules, best_.candidate()));
    phase_ = Phase::kEvaluateResult;
  }

  VOXLOC_HD static int StageOf(const SearchRules& rules, const SearchCandidate<Score>& candidate) {
    return candidate.stage < 0 ? rules.score_stage : candidate.stage;
  }

  Phase phase_ = Phase::kBefore;
  int requested_stage_;
  double requested_chart_[6];
  double guess_[6];
  double chart_[6];
  Evaluation<Score> evaluations_[2];  // those of the stage that runs have the prior in them
  GuessPull pulls_[2];                // of the evaluations
  Matrix6x6 weights_[2];              // of that stage, and of the one that may begin next
  bool pulled_ = false;               // the pull of next() is computed
  int weight_ = 0;
  int current_ = 0;
  StageSearch stage_;

  Score before_;
  BestCandidate<Score> best_;  // of the attempt that runs
  SecondAttempt<Score> second_attempt_;
  bool repeating_ = false;  // the stage that runs has run before
  int ended_stage_ = 0;
  Termination ended_by_ = Termination::kConverged;
  bool stopped_ = false;  // by stopped_by_; no stage begins any more
  Termination stopped_by_ = Termination::kConverged;
  int iterations_ = 0;
  int evaluations_count_ = 0;

  bool step_applied_ = false;  // before its evaluation
  bool predicted_ = false;     // and the stage continues from there if the evaluation is finite
  bool step_ends_stage_ = false;
  Termination step_ends_by_ = Termination::kConverged;
  bool stepped_ = false;
  int step_stage_ = 0;
  double from_[6] = {};
  double to_[6] = {};
  NewtonDirection step_direction_;
  double step_length_ = 0.0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SEARCH_H_
