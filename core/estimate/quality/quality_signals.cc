// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/quality_signals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/ndt/score_function.h"

namespace voxloc {
namespace {

// Of the largest score of a pair: from it on a point is explained.
constexpr double kExplainedShare = 0.5;
// Sectors of fewer points say nothing.
constexpr size_t kMinSectorPoints = 5;
// Median of chi squared with three degrees of freedom.
constexpr double kMedianSquaredResidual = 2.366;

ndt::ScoreConstants ConstantsOf(const Stage& stage) {
  return ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
}

void MeasureFit(const PointCloud& scan, const ScanShape& shape, absl::Span<const float> scores,
                double largest, QualitySignals& signals) {
  std::array<size_t, kSectors> points{};
  std::array<size_t, kSectors> explained{};
  double sum = 0.0;
  size_t raised_explained = 0;
  size_t finite = 0;
  for (size_t i = 0; i < scan.size(); ++i) {
    if (!scan.IsFinite(i)) continue;
    ++finite;
    const double share = static_cast<double>(scores[i]) / largest;
    const bool is_explained = share >= kExplainedShare;
    sum += share;
    ++points[shape.sector[i]];
    if (is_explained) ++explained[shape.sector[i]];
    if (shape.raised[i] == 0) continue;
    ++signals.raised_points;
    if (is_explained) ++raised_explained;
  }
  if (finite == 0) return;
  signals.mean_fit = sum / static_cast<double>(finite);
  if (signals.raised_points > 0) {
    signals.raised_ratio =
        static_cast<double>(raised_explained) / static_cast<double>(signals.raised_points);
  }
  size_t covered = 0;
  size_t populated = 0;
  size_t agreeing = 0;
  for (size_t s = 0; s < kSectors; ++s) {
    if (points[s] < kMinSectorPoints) continue;
    ++populated;
    if (explained[s] > 0) ++covered;
    if (4 * explained[s] >= 3 * points[s]) ++agreeing;
  }
  signals.sector_coverage = static_cast<double>(covered) / static_cast<double>(kSectors);
  if (populated > 0) {
    signals.sector_agreement = static_cast<double>(agreeing) / static_cast<double>(populated);
  }
}

void MeasureResiduals(absl::Span<const float> scores, const ndt::ScoreConstants& constants,
                      QualitySignals& signals) {
  std::vector<float> matched;
  matched.reserve(scores.size());
  size_t explained = 0;
  const auto largest = static_cast<float>(-constants.d1);
  const auto least = static_cast<float>(kExplainedShare) * largest;
  for (const float score : scores) {
    if (!(score > 0.0F)) continue;
    matched.push_back(score);
    if (score >= least) ++explained;
  }
  if (matched.empty()) return;
  signals.sharp_ratio = static_cast<double>(explained) / static_cast<double>(scores.size());
  // The larger a score, the smaller its residual: the median of one is that of the other.
  const auto middle = matched.begin() + static_cast<std::ptrdiff_t>((matched.size() - 1) / 2);
  std::nth_element(matched.begin(), middle, matched.end());
  const double share = std::min(1.0, static_cast<double>(*middle) / -constants.d1);
  signals.residual_ratio = -2.0 / constants.d2 * std::log(share) / kMedianSquaredResidual;
}

void MeasureFreeSpace(const FreeSpace& free_space, absl::Span<const float> scores, double largest,
                      QualitySignals& signals) {
  signals.rays = free_space.rays;
  if (free_space.rays == 0) return;
  const double solid = kExplainedShare * largest;
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
  signals.matched_ratio = result.after.matched_ratio();
  signals.matched_points = result.after.matched_points;
  signals.nvtl = result.after.nearest_voxel_likelihood;
  if (result.after.matched_points == 0) return signals;

  const double largest = -ConstantsOf(profile.stages[profile.score_stage]).d1;
  MeasureFit(scan, *request.shape, result.point_scores, largest, signals);
  MeasureResiduals(*request.answer_scores,
                   ConstantsOf(profile.stages[static_cast<size_t>(result.stage)]), signals);
  MeasureFreeSpace(free_space, *request.free_space_scores, largest, signals);
  return signals;
}

}  // namespace voxloc
