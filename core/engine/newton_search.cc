// SPDX-License-Identifier: Apache-2.0

#include "core/engine/newton_search.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/ndt/line_search.h"
#include "core/ndt/oscillation.h"
#include "core/ndt/regularization.h"

namespace voxloc {
namespace {

// Shortest trial of a line search without a step floor, as a share of epsilon.
constexpr double kSmallestTrial = 1e-3;

Matrix6 ToEigen(const ndt::Matrix6x6& matrix) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(&matrix.m[0][0]);
}

ndt::Vector3<double> PositionOf(const ChartVector& chart) { return {chart[0], chart[1], chart[2]}; }

class Search {
 public:
  Search(const AlignJob& job, PoseEvaluator& evaluator, AlignResult& result)
      : job_(job), evaluator_(evaluator), result_(result) {}

  void Run() {
    chart_ = ChartFromPose(job_.map_T_base_guess);
    if (job_.profile.score_stage != 0) result_.before = ScoreAt(chart_);
    size_t last = 0;
    for (size_t s = 0; s < job_.profile.stages.size(); ++s) {
      last = s;
      RunStage(static_cast<int>(s), job_.profile.stages[s]);
      if (!MayContinue(result_.termination)) break;
    }
    result_.map_T_base = PoseFromChart(chart_);
    result_.after = job_.profile.score_stage == last ? at_.score : ScoreAt(chart_);
    result_.gradient = Eigen::Map<const ChartVector>(at_.derivatives.gradient);
    result_.hessian = ToEigen(at_.derivatives.hessian);
  }

 private:
  static bool MayContinue(Termination termination) {
    return termination == Termination::kConverged || termination == Termination::kMaxIterations ||
           termination == Termination::kZeroStep;
  }

  void RunStage(int number, const Stage& stage) {
    evaluator_.BeginStage(stage);
    at_ = EvaluateAt(chart_);
    if (number == 0 && job_.profile.score_stage == 0) result_.before = at_.score;
    ndt::OscillationCounter oscillation;
    oscillation.Visit(PositionOf(chart_));
    result_.reached_iteration_limit = false;
    for (int iteration = 1;; ++iteration) {
      if (!ndt::IsFinite(at_.derivatives)) {
        result_.termination = Termination::kNotFinite;
        break;
      }
      if (Stopped()) break;
      ndt::NewtonDirection direction = ndt::ComputeNewtonDirection(at_.derivatives);
      if (!(direction.norm > 0.0) || direction.slope == 0.0) {
        result_.termination = Termination::kZeroStep;
        break;
      }
      const Evaluation before = at_;
      const ChartVector from = chart_;
      const double length = TakeStep(stage, direction);
      if (!(length >= 0.0)) {
        result_.termination = Termination::kNotFinite;
        break;
      }
      ++result_.iterations;
      oscillation.Visit(PositionOf(chart_));
      if (job_.want_trace) Record(number, from, before, direction, length);
      if (iteration >= stage.max_iterations) {
        result_.termination = Termination::kMaxIterations;
        result_.reached_iteration_limit = true;
        break;
      }
      if (length < stage.epsilon) {
        result_.termination = Termination::kConverged;
        break;
      }
    }
    result_.oscillations = oscillation.Longest();
  }

  // Moves chart_ and at_ along the direction; the length of the step, or -1 where the evaluation is
  // not finite, which leaves both alone.
  double TakeStep(const Stage& stage, const ndt::NewtonDirection& direction) {
    const ChartVector unit = Eigen::Map<const ChartVector>(direction.unit);
    const double floor = stage.step_floor ? 0.5 * stage.epsilon : 0.0;
    double length = ndt::ClampStepLength(direction.norm, floor, stage.max_step);
    Evaluation next;
    if (!stage.line_search) {
      next = EvaluateAt(chart_ + length * unit);
    } else {
      ndt::LineSearch search(-at_.derivatives.score, direction.slope, length,
                             std::max(floor, kSmallestTrial * stage.epsilon), stage.max_step);
      for (;;) {
        length = search.Trial();
        next = EvaluateAt(chart_ + length * unit);
        const double slope = -Eigen::Map<const ChartVector>(next.derivatives.gradient).dot(unit);
        if (!ndt::IsFinite(next.derivatives) || search.Update(-next.derivatives.score, slope)) {
          break;
        }
      }
    }
    if (!ndt::IsFinite(next.derivatives)) return -1.0;
    chart_ += length * unit;
    at_ = next;
    return length;
  }

  PoseScore ScoreAt(const ChartVector& chart) {
    evaluator_.BeginStage(job_.profile.stages[job_.profile.score_stage]);
    return EvaluateAt(chart).score;
  }

  Evaluation EvaluateAt(const ChartVector& chart) {
    Evaluation evaluation = evaluator_.Evaluate(chart);
    ++result_.evaluations;
    if (job_.regularization_position_map) {
      const double weight =
          job_.profile.regularization_scale * static_cast<double>(evaluation.score.pairs);
      double p[6];
      Eigen::Map<ChartVector>(p, 6) = chart;
      const double added =
          ndt::AddRegularization(job_.regularization_position_map->x(),
                                 job_.regularization_position_map->y(), p, weight,
                                 evaluation.derivatives);
      if (job_.profile.score_includes_regularization && evaluation.score.points > 0) {
        evaluation.score.score += added;
        evaluation.score.transform_probability =
            evaluation.score.score / static_cast<double>(evaluation.score.points);
      }
    }
    return evaluation;
  }

  bool Stopped() {
    if (job_.stop.cancelled && job_.stop.cancelled->load(std::memory_order_relaxed)) {
      result_.termination = Termination::kCancelled;
      return true;
    }
    if (job_.stop.deadline != absl::InfiniteFuture() && absl::Now() >= job_.stop.deadline) {
      result_.termination = Termination::kDeadline;
      return true;
    }
    return false;
  }

  void Record(int stage, const ChartVector& from, const Evaluation& before,
              const ndt::NewtonDirection& direction, double length) {
    IterationTrace trace;
    trace.stage = stage;
    trace.map_T_base = PoseFromChart(from);
    trace.score = before.score;
    trace.gradient = Eigen::Map<const ChartVector>(before.derivatives.gradient);
    trace.hessian = ToEigen(before.derivatives.hessian);
    trace.newton_step = Eigen::Map<const ChartVector>(direction.unit) * direction.norm *
                        (direction.reversed ? -1.0 : 1.0);
    trace.newton_step_norm = direction.norm;
    trace.step_length = length;
    trace.reversed = direction.reversed;
    trace.slope = direction.slope;
    trace.map_T_base_after = PoseFromChart(chart_);
    result_.trace.push_back(std::move(trace));
  }

  const AlignJob& job_;
  PoseEvaluator& evaluator_;
  AlignResult& result_;
  ChartVector chart_ = ChartVector::Zero();
  Evaluation at_;  // at chart_
};

}  // namespace

void RunSchedule(const AlignJob& job, PoseEvaluator& evaluator, AlignResult& result) {
  Search(job, evaluator, result).Run();
}

}  // namespace voxloc
