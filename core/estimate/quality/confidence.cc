// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/cluster_covariance.h"
#include "core/geometry/euler.h"
#include "core/ndt/pose_score.h"

namespace voxloc {

ClusterPull MeasurePull(absl::Span<const GroupSums> clusters, const Degeneracy& degeneracy) {
  const Vector6 curvature = degeneracy.eigenvalues.cwiseAbs();
  const double least = kDegeneracyLimits.unobserved_ratio * curvature.maxCoeff();
  Vector6 steps;  // along each direction, of a gradient of 1
  if (!(least > 0.0)) return {};
  for (int i = 0; i < 6; ++i) steps[i] = 1.0 / std::max(curvature[i], least);
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(1.0 / degeneracy.rotation_scale_m);

  const Matrix6 steps_of_gradient = scale.asDiagonal() * degeneracy.eigenvectors *
                                    steps.asDiagonal() * degeneracy.eigenvectors.transpose() *
                                    scale.asDiagonal();

  Vector6 total = Vector6::Zero();
  Vector6 squares = Vector6::Zero();
  for (const GroupSums& cluster : clusters) {
    const Vector6 step =
        steps_of_gradient * Eigen::Map<const Vector6>(cluster.derivatives.gradient);
    total += step;
    squares += step.cwiseAbs2();
  }
  return {total.head<3>().norm(), total.tail<3>().norm(), std::sqrt(squares.head<3>().sum()),
          std::sqrt(squares.tail<3>().sum())};
}

namespace {

// Logistic models of the terms, fitted by tests/bench/fit_confidence.py to what `voxloc_bench
// quality --dump` writes of all data sets of the choosing list, with 24 to 30 scans each and both
// profiles; right and wrong poses weigh the same. docs/accuracy.md has the commands, and the
// results on the judging list.
struct Model {
  double bias;
  std::array<double, kConfidenceTerms> coefficients;  // in the order of ConfidenceTerms
};
// Of answers under cells smaller than kFineCellsM, whose residuals see a few centimetres.
constexpr double kFineCellsM = 1.0;
constexpr Model kFine = {-3.619, {4.580, 6.798, -9.730, -3.391, -1.553}};
constexpr Model kCoarse = {-6.122, {3.881, 7.056, -6.859, -4.906, -1.342}};

// Not fitted: a result so many standard deviations from its guess is doubted, one logit for every
// two more. A true guess is nearer in 99 of 100 cases.
constexpr double kInnovation = -0.5;
constexpr double kUsualInnovation = 4.1;

// Priors that the ratios of few raised points or rays are shrunk to.
constexpr double kUsualRaisedRatio = 0.9;
constexpr double kRaisedPrior = 10.0;  // points
constexpr double kRayPrior = 5.0;

// Newton steps count by the limits of a right pose.
constexpr double kRightM = 0.15;
constexpr double kRightRad = 0.5 * kRadiansPerDegree;

// From 0, of no step, to 1; one half for a step as long as a right pose may be wrong.
double Saturate(double step_m, double step_rad) {
  const double step = std::hypot(step_m / kRightM, step_rad / kRightRad);
  return std::isfinite(step) ? step / (1.0 + step) : 1.0;
}

// Of the largest score of a pair: from it on a point is explained.
constexpr double kExplainedScoreRatio = 0.5;

double LargestScore(const Stage& stage) {
  return -ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m).d1;
}

// Explained points of those that are raised, by scores of the score stage.
void MeasureRaised(const PointCloud& scan, const ScanShape& shape, absl::Span<const float> scores,
                   double largest, QualitySignals& signals) {
  size_t explained = 0;
  for (size_t i = 0; i < scan.size(); ++i) {
    if (!scan.IsFinite(i) || shape.raised[i] == 0) continue;
    ++signals.raised_points;
    if (static_cast<double>(scores[i]) >= kExplainedScoreRatio * largest) ++explained;
  }
  if (signals.raised_points == 0) return;
  signals.raised_ratio =
      static_cast<double>(explained) / static_cast<double>(signals.raised_points);
}

double ExplainedRatio(absl::Span<const float> scores, double largest) {
  const double least = kExplainedScoreRatio * largest;
  const auto explained = std::count_if(scores.begin(), scores.end(), [least](float score) {
    return static_cast<double>(score) >= least;
  });
  return static_cast<double>(explained) / static_cast<double>(scores.size());
}

void MeasureFreeSpace(const FreeSpace& free_space, absl::Span<const float> scores, double largest,
                      QualitySignals& signals) {
  signals.rays = free_space.rays;
  if (free_space.rays == 0) return;
  const double solid = kExplainedScoreRatio * largest;
  std::vector<bool> through(free_space.rays, false);
  for (size_t i = 0; i < scores.size(); ++i) {
    if (static_cast<double>(scores[i]) >= solid) through[free_space.ray[i]] = true;
  }
  signals.seen_through_ratio =
      static_cast<double>(std::count(through.begin(), through.end(), true)) /
      static_cast<double>(free_space.rays);
}

}  // namespace

std::array<ConfidenceTerm, kConfidenceTerms> ConfidenceTerms(const QualitySignals& signals) {
  const auto raised = static_cast<double>(signals.raised_points);
  const auto rays = static_cast<double>(signals.rays);
  const ClusterPull& pull = signals.pull;
  return {{
      {"raised", (raised * signals.raised_ratio + kRaisedPrior * kUsualRaisedRatio) /
                     (raised + kRaisedPrior)},
      {"sharp", signals.sharp_ratio},
      {"seen_through", signals.seen_through_ratio * rays / (rays + kRayPrior)},
      {"step", Saturate(pull.step_m, pull.step_rad)},
      {"spread", Saturate(pull.spread_m, pull.spread_rad)},
  }};
}

double ConfidenceOf(const QualitySignals& signals) {
  if (signals.matched_points == 0) return 0.0;
  const Model& model = signals.answer_cell_size_m < kFineCellsM ? kFine : kCoarse;
  const auto terms = ConfidenceTerms(signals);
  double logit = model.bias + kInnovation * std::max(0.0, signals.innovation - kUsualInnovation);
  for (size_t i = 0; i < kConfidenceTerms; ++i) logit += model.coefficients[i] * terms[i].value;
  return 1.0 / (1.0 + std::exp(-logit));
}

absl::StatusOr<QualitySignals> MeasureQuality(const QualityRequest& request) {
  const AlignResult& result = *request.result;
  const PointCloud& scan = *request.job->scan;
  const Profile& profile = request.job->profile;
  const FreeSpace& free_space = request.shape->free_space;
  if (result.point_scores.size() != scan.size() || request.answer_scores->size() != scan.size() ||
      request.free_space_scores->size() != free_space.points_base->size()) {
    return absl::FailedPreconditionError("the points of the scan, or of its rays, have no scores");
  }
  QualitySignals signals;
  signals.matched_points = result.after.matched_points;
  const Stage& result_stage = profile.stages[static_cast<size_t>(result.stage)];
  signals.answer_cell_size_m = result_stage.cells.cell_size_m;
  if (result.after.matched_points == 0) return signals;

  const double largest = LargestScore(profile.stages[profile.score_stage]);
  MeasureRaised(scan, *request.shape, result.point_scores, largest, signals);
  signals.sharp_ratio = ExplainedRatio(*request.answer_scores, LargestScore(result_stage));
  MeasureFreeSpace(free_space, *request.free_space_scores, largest, signals);
  return signals;
}

}  // namespace voxloc
