// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/quality_signals.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/ndt/score_function.h"

namespace voxloc {
namespace {

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
  const Stage& answer_stage = profile.stages[static_cast<size_t>(result.stage)];
  signals.answer_cell_size_m = answer_stage.cells.cell_size_m;
  if (result.after.matched_points == 0) return signals;

  const double largest = LargestScore(profile.stages[profile.score_stage]);
  MeasureRaised(scan, *request.shape, result.point_scores, largest, signals);
  signals.sharp_ratio = ExplainedRatio(*request.answer_scores, LargestScore(answer_stage));
  MeasureFreeSpace(free_space, *request.free_space_scores, largest, signals);
  return signals;
}

}  // namespace voxloc
