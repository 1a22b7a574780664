// SPDX-License-Identifier: Apache-2.0
//
// NewtonSearch: the stages of a schedule one after another, as a state machine: it says at which
// pose, and under the cells of which stage, the scan is to be evaluated next, takes the evaluation,
// and goes on. The CPU engine drives it from a loop, a kernel from inside one launch; both
// therefore step, clamp, search along lines, judge and end in the same way.
//
// Where stages are judged (JudgementRules), a stage whose end scores too low is undone, and the
// next stage begins at the best pose so far. The search then ends no worse than it began, but for
// the loss that the rules allow. Far from the guess, stages run a second time, from the guess.

#ifndef VOXLOC_CORE_NDT_SEARCH_H_
#define VOXLOC_CORE_NDT_SEARCH_H_

#include "core/ndt/evaluation.h"
#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_answer.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/stage_search.h"
#include "core/ndt/termination.h"

namespace voxloc::ndt {

// One iteration of a stage: from an evaluation at the chart `from`, a step of `length` along
// `direction` led to `after`.
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
      : wanted_stage_(rules.score_stage) {
    for (int i = 0; i < 6; ++i) chart_[i] = wanted_[i] = guess_[i] = guess[i];
  }

  // The evaluation wanted, while not done: at this chart, under this stage, to be written to
  // next().
  VOXLOC_HD bool done() const { return phase_ == Phase::kDone; }
  VOXLOC_HD int wanted_stage() const { return wanted_stage_; }
  VOXLOC_HD const double (&wanted() const)[6] { return wanted_; }
  // Whether it is of all points, also where the stage searches with fewer.
  VOXLOC_HD bool wants_all_points() const {
    return phase_ != Phase::kBeginStage && phase_ != Phase::kTrial;
  }
  VOXLOC_HD Evaluation<Score>& next() { return evaluations_[1 - current_]; }

  // Takes a trial for the step before its evaluation is there, if it will be: between two
  // evaluations there is then less to do. Advance does it where this was not called.
  VOXLOC_HD void StepAhead(const SearchRules& rules) {
    if (phase_ != Phase::kTrial || rules.stage[wanted_stage_].line_search) return;
    TakeStep(rules);
    foreseen_ = !step_ends_stage_ && !rules.regularized;
  }

  // Takes next(). An interrupt ends the search with its termination; the pose is the best so far.
  VOXLOC_HD void Advance(const SearchRules& rules, Interrupt interrupt) {
    ++evaluations_count_;
    const bool foreseen = foreseen_ && next().finite && interrupt == Interrupt::kNone;
    foreseen_ = false;
    if (foreseen) FinishStep();
    if ((foreseen || TakeEvaluation(rules, interrupt)) && Propose(rules)) return;
    // What ended within the cells of the score stage has its score already.
    if (phase_ == Phase::kStageEnded) Judge(rules, current().score, interrupt);
  }

  // The result, once done. The pose is also valid before, after an Advance.
  VOXLOC_HD const double (&chart() const)[6] { return chart_; }
  // There, under the cells of answer_stage(); those of the score stage where this is the guess.
  VOXLOC_HD const Evaluation<Score>& current() const { return evaluations_[current_]; }
  VOXLOC_HD int answer_stage() const { return best_.answer().stage; }  // -1: it is the guess
  VOXLOC_HD const Score& before() const { return before_; }
  VOXLOC_HD const Score& after() const { return best_.answer().score; }
  VOXLOC_HD Termination termination() const {
    return stopped_ ? stopped_by_ : best_.answer().termination;
  }
  VOXLOC_HD int iterations() const { return iterations_; }
  VOXLOC_HD int evaluations() const { return evaluations_count_; }
  VOXLOC_HD int oscillations() const { return best_.answer().oscillations; }
  VOXLOC_HD bool reached_iteration_limit() const { return best_.answer().reached_iteration_limit; }

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
  enum class Phase { kBefore, kBeginStage, kTrial, kStageEnded, kJudge, kAnswer, kDone };

  VOXLOC_HD void Accept() { current_ = 1 - current_; }

  VOXLOC_HD void Want(const double (&chart)[6], int stage) {
    for (int i = 0; i < 6; ++i) wanted_[i] = chart[i];
    wanted_stage_ = stage;
  }

  // To a stage that begins at chart_. True: next() is the evaluation there that it begins with.
  VOXLOC_HD_RARE bool EnterStage(const SearchRules& rules, int stage, bool evaluated) {
    Want(chart_, stage);
    if (evaluated && stage == rules.score_stage && !rules.stage[stage].thinned) {
      BeginStage();
      return true;
    }
    phase_ = Phase::kBeginStage;
    return false;
  }

  VOXLOC_HD void BeginStage() {
    Accept();
    stage_.Begin(chart_);
  }

  // Whether the stage goes on, or another begins, from an evaluation at chart_.
  VOXLOC_HD_RARE bool TakeEvaluation(const SearchRules& rules, Interrupt interrupt) {
    stepped_ = false;
    if (rules.regularized) Regularize(rules, wanted_, next());
    const bool goes_on =
        phase_ == Phase::kTrial ? TakeTrial(rules, interrupt) : TakeOther(rules, interrupt);
    if (!goes_on) return false;
    if (current().finite && interrupt == Interrupt::kNone) return true;
    EndStage(rules, current().finite ? TerminationBy(interrupt) : Termination::kNotFinite);
    return false;
  }

  // From an evaluation at chart_ to the next trial.
  VOXLOC_HD bool Propose(const SearchRules& rules) {
    if (!stage_.Propose(rules.stage[wanted_stage_], current().derivatives, chart_, wanted_)) {
      EndStage(rules, Termination::kZeroStep);
      return false;
    }
    phase_ = Phase::kTrial;
    return true;
  }

  // An evaluation that is not of a trial. True: a stage begins with it.
  VOXLOC_HD_RARE bool TakeOther(const SearchRules& rules, Interrupt interrupt) {
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
      case Phase::kAnswer:
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

  // Whether the trial is taken and the stage goes on.
  VOXLOC_HD bool TakeTrial(const SearchRules& rules, Interrupt interrupt) {
    const StageRules& stage = rules.stage[wanted_stage_];
    const Evaluation<Score>& evaluation = next();
    if (!evaluation.finite) {
      UndoStep();
      EndStage(rules, Termination::kNotFinite);
      return false;
    }
    if (!step_taken_) {
      if (!stage_.AcceptsTrial(stage, evaluation.derivatives, chart_, wanted_)) {
        if (interrupt != Interrupt::kNone) EndStage(rules, TerminationBy(interrupt));
        return false;
      }
      TakeStep(rules);
    }
    FinishStep();
    if (!step_ends_stage_) return true;
    EndStage(rules, step_ends_by_);
    return false;
  }

  VOXLOC_HD void TakeStep(const SearchRules& rules) {
    if (rules.traced) TraceStep();
    for (int i = 0; i < 6; ++i) from_[i] = chart_[i];
    for (int i = 0; i < 6; ++i) chart_[i] = wanted_[i];
    step_ends_stage_ = stage_.EndsWithStepTo(chart_, rules.stage[wanted_stage_], step_ends_by_);
    step_taken_ = true;
  }

  // With the evaluation of the step.
  VOXLOC_HD void FinishStep() {
    step_taken_ = false;
    stepped_ = true;
    Accept();
    ++iterations_;
  }

  // Of the step that was taken ahead, if any.
  VOXLOC_HD_RARE void UndoStep() {
    if (!step_taken_) return;
    step_taken_ = false;
    for (int i = 0; i < 6; ++i) chart_[i] = from_[i];
    stage_.UndoStep();
  }

  VOXLOC_HD_RARE void TraceStep() {
    step_stage_ = wanted_stage_;
    step_direction_ = stage_.direction();
    step_length_ = stage_.length();
    for (int i = 0; i < 6; ++i) to_[i] = wanted_[i];
  }

  VOXLOC_HD_RARE void EndStage(const SearchRules& rules, Termination termination) {
    ended_stage_ = wanted_stage_;
    ended_by_ = termination;
    const bool goes_on = termination == Termination::kConverged ||
                         termination == Termination::kMaxIterations ||
                         termination == Termination::kZeroStep;
    if (!goes_on) {
      stopped_ = true;
      stopped_by_ = termination;
    }
    if (goes_on && !rules.judgement.judged && ended_stage_ + 1 < rules.stages) {
      EnterStage(rules, ended_stage_ + 1, /*evaluated=*/false);
    } else if (ended_stage_ == rules.score_stage && !rules.stage[ended_stage_].thinned) {
      phase_ = Phase::kStageEnded;
    } else {
      Want(chart_, rules.score_stage);
      phase_ = Phase::kJudge;
    }
  }

  // What becomes of the stage that ended at chart_, where the score is this. True: a stage begins,
  // with next().
  VOXLOC_HD_RARE bool Judge(const SearchRules& rules, const Score& score, Interrupt interrupt) {
    SearchAnswer<Score> offered;
    for (int i = 0; i < 6; ++i) offered.chart[i] = chart_[i];
    offered.score = score;
    offered.stage = ended_stage_;
    offered.repeated = repeating_;
    offered.termination = ended_by_;
    offered.oscillations = stage_.oscillations();
    offered.reached_iteration_limit = ended_by_ == Termination::kMaxIterations;
    const bool taken = best_.Offer(rules, offered);
    if (!taken) {
      for (int i = 0; i < 6; ++i) chart_[i] = best_.answer().chart[i];
    }
    const bool last = stopped_ || ended_stage_ + 1 == rules.stages;
    if (!last && interrupt != Interrupt::kNone) {
      stopped_ = true;
      stopped_by_ = TerminationBy(interrupt);
    }
    if (!last && !stopped_) {
      if (IsRepeated(rules)) {
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

  // Whether the best pose so far, chart_, is to be doubted.
  VOXLOC_HD bool IsDoubted(const SearchRules& rules) const {
    if (!rules.judgement.judged) return false;
    double squared = 0.0;
    for (int i = 0; i < 3; ++i) squared += (chart_[i] - guess_[i]) * (chart_[i] - guess_[i]);
    return squared > rules.judgement.doubted_beyond_m * rules.judgement.doubted_beyond_m;
  }

  // Whether the stage that ended is to run again from the guess.
  VOXLOC_HD bool IsRepeated(const SearchRules& rules) const {
    return !repeating_ && ended_stage_ + 1 == rules.score_stage && rules.entry < ended_stage_ &&
           IsDoubted(rules);
  }

  // At the best pose of the attempt. `evaluated`: the last stage ended there.
  VOXLOC_HD void EndAttempt(const SearchRules& rules, Interrupt interrupt, bool evaluated) {
    const bool found = !stopped_ && best_.answer().stage >= 0;
    const double weight = current().score.BestSum();  // where the last stage ended, if not stopped
    if (second_attempt_.begun()) {
      if (!found || second_attempt_.FirstOutweighs(rules, weight)) {
        return Answer(rules, second_attempt_.first());
      }
    } else if (found && rules.entry < rules.score_stage && IsDoubted(rules)) {
      if (interrupt == Interrupt::kNone) return BeginSecondAttempt(rules, weight);
      stopped_ = true;
      stopped_by_ = TerminationBy(interrupt);
    }
    if (!evaluated) return Answer(rules, best_.answer());
    Want(chart_, StageOf(rules, best_.answer()));
    phase_ = Phase::kDone;
  }

  VOXLOC_HD void BeginSecondAttempt(const SearchRules& rules, double first_weight) {
    second_attempt_.Begin(best_.answer(), first_weight);
    for (int i = 0; i < 6; ++i) chart_[i] = guess_[i];
    best_.Begin(guess_, before_);
    EnterStage(rules, rules.score_stage, /*evaluated=*/false);
  }

  // Ends the search with this answer, once it is evaluated.
  VOXLOC_HD void Answer(const SearchRules& rules, const SearchAnswer<Score>& answer) {
    best_.Keep(answer);
    for (int i = 0; i < 6; ++i) chart_[i] = best_.answer().chart[i];
    Want(chart_, StageOf(rules, best_.answer()));
    phase_ = Phase::kAnswer;
  }

  VOXLOC_HD static int StageOf(const SearchRules& rules, const SearchAnswer<Score>& answer) {
    return answer.stage < 0 ? rules.score_stage : answer.stage;
  }

  Phase phase_ = Phase::kBefore;
  int wanted_stage_;
  double wanted_[6];
  double guess_[6];
  double chart_[6];
  Evaluation<Score> evaluations_[2];
  int current_ = 0;
  StageSearch stage_;

  Score before_;
  BestAnswer<Score> best_;  // of the attempt that runs
  SecondAttempt<Score> second_attempt_;
  bool repeating_ = false;  // the stage that runs has run before
  int ended_stage_ = 0;
  Termination ended_by_ = Termination::kConverged;
  bool stopped_ = false;  // no stage begins any more, by stopped_by_
  Termination stopped_by_ = Termination::kConverged;
  int iterations_ = 0;
  int evaluations_count_ = 0;

  bool step_taken_ = false;  // before its evaluation
  bool foreseen_ = false;    // and the stage goes on from there, if its numbers are finite
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
