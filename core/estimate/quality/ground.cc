// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/ground.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr float kColumnM = 4.0F;
// Columns are widened until there are no more of them: 1 km of them each way.
constexpr float kMaxColumns = 65536.0F;

PointCloud PointsAbove(const PointCloud& scan_base, const Eigen::Matrix3d& map_R_base,
                       double z_margin_m) {
  const Eigen::RowVector3d up = map_R_base.row(2);
  PointCloud kept;
  kept.origin = scan_base.origin;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i) || !(up.dot(scan_base.Point(i)) > z_margin_m)) continue;
    kept.PushBack(scan_base.x[i], scan_base.y[i], scan_base.z[i]);
    if (scan_base.has_intensity()) kept.intensity.push_back(scan_base.intensity[i]);
  }
  return kept;
}

}  // namespace

GroundGrid::GroundGrid(const std::vector<Eigen::Vector3f>& points) {
  low_.setConstant(std::numeric_limits<float>::infinity());
  Eigen::Vector2f high = -low_;
  for (const Eigen::Vector3f& point : points) {
    if (!point.allFinite()) continue;
    low_ = low_.cwiseMin(point.head<2>());
    high = high.cwiseMax(point.head<2>());
  }
  const Eigen::Vector2f extent = high - low_;
  if (!extent.allFinite()) return;
  float edge_m = kColumnM;
  while ((extent.array() / edge_m + 1.0F).prod() > kMaxColumns) edge_m *= 2.0F;
  columns_per_m_ = 1.0F / edge_m;
  // A border of empty columns, so that all neighbours are inside.
  width_ = static_cast<size_t>(extent.x() * columns_per_m_) + 3;
  const size_t height = static_cast<size_t>(extent.y() * columns_per_m_) + 3;
  std::vector<float> lowest(width_ * height, std::numeric_limits<float>::infinity());
  for (const Eigen::Vector3f& point : points) {
    if (!point.allFinite()) continue;
    float& column = lowest[ColumnOf(point)];
    column = std::min(column, point.z());
  }
  ComputeLowestNearby(lowest);
}

// The least of each column and the eight around it: first along rows, then across them.
void GroundGrid::ComputeLowestNearby(const std::vector<float>& lowest) {
  std::vector<float> along = lowest;
  for (size_t i = 1; i + 1 < lowest.size(); ++i) {
    along[i] = std::min({lowest[i - 1], lowest[i], lowest[i + 1]});
  }
  lowest_nearby_ = along;
  for (size_t i = width_; i + width_ < along.size(); ++i) {
    lowest_nearby_[i] = std::min({along[i - width_], along[i], along[i + width_]});
  }
}

size_t GroundGrid::ColumnOf(const Eigen::Vector3f& point) const {
  const auto x = static_cast<size_t>((point.x() - low_.x()) * columns_per_m_);
  const auto y = static_cast<size_t>((point.y() - low_.y()) * columns_per_m_);
  return (y + 1) * width_ + x + 1;
}

absl::StatusOr<NoGroundScores> ScoreWithoutGround(Engine& engine, const AlignJob& job,
                                                  const Pose& map_T_base, double z_margin_m) {
  if (!std::isfinite(z_margin_m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("z_margin_m must be finite (got ", z_margin_m, ")"));
  }
  VOXLOC_TRY(ValidateProfile(job.profile));
  ScoreRequest request;
  request.map = job.map;
  request.scan = job.scan;
  request.map_T_base = {map_T_base};
  request.stage = job.profile.stages[job.profile.score_stage];
  request.work_class = job.work_class;
  request.stop = job.stop;
  VOXLOC_TRY(CheckRequest(request));

  NoGroundScores scores;
  scores.points_base = std::make_shared<const PointCloud>(
      PointsAbove(*job.scan, map_T_base.rotation.toRotationMatrix(), z_margin_m));
  if (scores.points_base->empty()) return scores;
  request.scan = scores.points_base;
  VOXLOC_ASSIGN_OR_RETURN(ScoreResult result, engine.Score(request));
  scores.score = result.poses[0];
  return scores;
}

}  // namespace voxloc
