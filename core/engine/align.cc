// SPDX-License-Identifier: Apache-2.0

#include "core/engine/align.h"

#include <algorithm>
#include <cmath>

namespace voxloc {

AlignJob WithGuess(AlignJob job, const Pose& map_T_base_guess) {
  job.map_T_base_guess = map_T_base_guess;
  job.guess_covariance.reset();
  job.prior_covariance.reset();
  return job;
}

std::vector<AlignJob> JobsFrom(AlignJob job, absl::Span<const Pose> map_T_base_guesses) {
  job.with_trace = false;
  job.with_point_scores = false;
  std::vector<AlignJob> jobs;
  jobs.reserve(map_T_base_guesses.size());
  for (const Pose& guess : map_T_base_guesses) jobs.push_back(WithGuess(job, guess));
  return jobs;
}

absl::string_view ToString(Termination termination) {
  switch (termination) {
    case Termination::kConverged:
      return "converged";
    case Termination::kMaxIterations:
      return "max iterations";
    case Termination::kZeroStep:
      return "zero step";
    case Termination::kNotFinite:
      return "not finite";
    case Termination::kCancelled:
      return "cancelled";
    case Termination::kDeadline:
      return "deadline";
    case Termination::kNoImprovement:
      return "no improvement";
  }
  return "unknown";
}

AlignResult ResultOutOfMap(const PointCloud& scan_base, const Pose& map_T_base_guess,
                           bool with_point_scores) {
  AlignResult result;
  result.map_T_base = map_T_base_guess;
  result.termination = Termination::kZeroStep;
  result.evaluations = 1;
  result.before.points = result.after.points = scan_base.size();
  if (with_point_scores) result.point_scores.assign(scan_base.size(), 0.0F);
  return result;
}

Judgement JudgeInDetail(const AlignResult& result, const Profile& profile, int max_oscillations) {
  Judgement judgement;
  judgement.finished = result.termination == Termination::kConverged ||
                       result.termination == Termination::kZeroStep ||
                       result.termination == Termination::kMaxIterations;
  judgement.under_iteration_limit = !result.reached_iteration_limit;
  judgement.oscillating = result.oscillations > max_oscillations;
  judgement.score = profile.acceptance_score == ScoreKind::kTransformProbability
                        ? result.after.transform_probability
                        : result.after.nearest_voxel_likelihood;
  judgement.over_threshold = judgement.score > profile.acceptance_threshold;
  if (!judgement.finished || !(judgement.under_iteration_limit || judgement.oscillating)) {
    judgement.acceptance = Acceptance::kNotConverged;
  } else {
    judgement.acceptance = judgement.over_threshold ? Acceptance::kAccepted : Acceptance::kLowScore;
  }
  return judgement;
}

Acceptance Judge(const AlignResult& result, const Profile& profile) {
  return JudgeInDetail(result, profile).acceptance;
}

double MaxPointDistance(const PointCloud& scan_base) {
  double farthest = 0.0;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    farthest = std::max(farthest, scan_base.Point(i).squaredNorm());
  }
  return std::sqrt(farthest);
}

bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m, double margin_m) {
  if (map.finite_points == 0) return false;
  const Eigen::Array3d position = map_T_base.translation.array();
  const double slack = reach_m + margin_m;
  return (position >= map.min.array() - slack).all() && (position <= map.max.array() + slack).all();
}

double MatchMargin(const Profile& profile) {
  double largest = 0.0;
  for (const Stage& stage : profile.stages) largest = std::max(largest, stage.cells.cell_size_m);
  return 2.0 * largest;
}

}  // namespace voxloc
