// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/quality_signals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/estimate/quality/free_space.h"
#include "core/ndt/score_function.h"

namespace voxloc {
namespace {

// Of the largest score of a pair: from it on a point is explained.
constexpr double kExplainedShare = 0.5;
constexpr size_t kSectors = 12;
// Sectors of fewer points say nothing.
constexpr size_t kMinSectorPoints = 5;
// The ground is the lowest point of a column and its neighbours.
constexpr double kColumnM = 4.0;
constexpr double kRaisedM = 0.7;
// Median of chi squared with three degrees of freedom.
constexpr double kMedianSquaredResidual = 2.366;

ndt::ScoreConstants ConstantsOf(const Stage& stage) {
  return ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
}

// Which points stand clear of the ground at this pose, as the scan alone shows it.
std::vector<bool> FindRaised(const PointCloud& scan_base, const Pose& map_T_base) {
  using Column = std::pair<int, int>;
  const Eigen::Matrix3d turn = map_T_base.rotation.toRotationMatrix();
  std::vector<Column> columns(scan_base.size());
  std::vector<double> heights(scan_base.size(), 0.0);
  absl::flat_hash_map<Column, double> lowest;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i)) continue;
    const Eigen::Vector3d point = turn * scan_base.Point(i);
    columns[i] = {static_cast<int>(std::floor(point.x() / kColumnM)),
                  static_cast<int>(std::floor(point.y() / kColumnM))};
    heights[i] = point.z();
    const auto [at, added] = lowest.try_emplace(columns[i], heights[i]);
    if (!added) at->second = std::min(at->second, heights[i]);
  }
  absl::flat_hash_map<Column, double> ground;
  for (const auto& [column, height] : lowest) {
    double low = height;
    for (int x = -1; x <= 1; ++x) {
      for (int y = -1; y <= 1; ++y) {
        const auto near = lowest.find({column.first + x, column.second + y});
        if (near != lowest.end()) low = std::min(low, near->second);
      }
    }
    ground[column] = low;
  }
  std::vector<bool> raised(scan_base.size(), false);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    raised[i] = scan_base.IsFinite(i) && heights[i] > ground[columns[i]] + kRaisedM;
  }
  return raised;
}

void MeasureFit(const QualityRequest& request, absl::Span<const float> scores, double largest,
                QualitySignals& signals) {
  const PointCloud& scan = *request.job->scan;
  const std::vector<bool> raised = FindRaised(scan, request.result->map_T_base);
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
    const Eigen::Vector3d point = scan.Point(i) - request.sensor_position_base;
    const double turn = (std::atan2(point.y(), point.x()) + M_PI) / (2.0 * M_PI);
    const size_t sector = std::min(kSectors - 1, static_cast<size_t>(turn * kSectors));
    ++points[sector];
    if (is_explained) ++explained[sector];
    if (raised[i]) ++signals.raised_points;
    if (raised[i] && is_explained) ++raised_explained;
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
  std::vector<double> squares;
  size_t explained = 0;
  for (const float score : scores) {
    const double share = static_cast<double>(score) / -constants.d1;
    if (!(share > 0.0)) continue;
    squares.push_back(-2.0 / constants.d2 * std::log(std::min(1.0, share)));
    if (share >= kExplainedShare) ++explained;
  }
  if (squares.empty()) return;
  signals.sharp_ratio = static_cast<double>(explained) / static_cast<double>(scores.size());
  const auto middle = squares.begin() + static_cast<std::ptrdiff_t>(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  signals.residual_ratio = *middle / kMedianSquaredResidual;
}

absl::StatusOr<std::vector<float>> PointScores(Engine& engine, const QualityRequest& request,
                                               std::shared_ptr<const PointCloud> points,
                                               const Stage& stage) {
  ScoreRequest score;
  score.map = request.job->map;
  score.scan = std::move(points);
  score.map_T_base = {request.result->map_T_base};
  score.stage = stage;
  score.work_class = request.job->work_class;
  score.stop = request.job->stop;
  score.want_point_scores = true;
  absl::StatusOr<ScoreResult> result = engine.Score(score);
  if (!result.ok()) return result.status();
  return std::move(result->point_scores);
}

absl::Status MeasureFreeSpace(Engine& engine, const QualityRequest& request, const Stage& stage,
                              QualitySignals& signals) {
  FreeSpace free_space = SampleFreeSpace(*request.job->scan, request.sensor_position_base);
  signals.rays = free_space.rays;
  if (free_space.rays == 0) return absl::OkStatus();
  const auto scores =
      PointScores(engine, request,
                  std::make_shared<const PointCloud>(std::move(free_space.points_base)), stage);
  if (!scores.ok()) return scores.status();
  const double solid = -kExplainedShare * ConstantsOf(stage).d1;
  std::vector<bool> through(free_space.rays, false);
  for (size_t i = 0; i < scores->size(); ++i) {
    if (static_cast<double>((*scores)[i]) >= solid) through[free_space.ray[i]] = true;
  }
  signals.seen_through_ratio =
      static_cast<double>(std::count(through.begin(), through.end(), true)) /
      static_cast<double>(free_space.rays);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<QualitySignals> MeasureQuality(Engine& engine, const QualityRequest& request) {
  const AlignResult& result = *request.result;
  const Profile& profile = request.job->profile;
  if (result.point_scores.size() != request.job->scan->size()) {
    return absl::FailedPreconditionError("the alignment was run without point scores");
  }
  QualitySignals signals;
  signals.matched_ratio = result.after.matched_ratio();
  signals.matched_points = result.after.matched_points;
  signals.nvtl = result.after.nearest_voxel_likelihood;
  if (result.after.matched_points == 0) return signals;

  const Stage& score_stage = profile.stages[profile.score_stage];
  const Stage& last_stage = profile.stages.back();
  const bool one_stage = profile.score_stage + 1 == profile.stages.size();
  // The point scores of a result are of the score stage.
  absl::Span<const float> score_scores = result.point_scores;
  absl::Span<const float> last_scores = result.point_scores;
  absl::StatusOr<std::vector<float>> measured = std::vector<float>();
  if (!one_stage) {
    measured = PointScores(engine, request, request.job->scan, last_stage);
    if (!measured.ok()) return measured.status();
    last_scores = *measured;
  }
  MeasureFit(request, score_scores, -ConstantsOf(score_stage).d1, signals);
  MeasureResiduals(last_scores, ConstantsOf(last_stage), signals);
  if (absl::Status status = MeasureFreeSpace(engine, request, score_stage, signals); !status.ok()) {
    return status;
  }
  return signals;
}

}  // namespace voxloc
