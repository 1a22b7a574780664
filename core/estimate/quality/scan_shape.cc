// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Between samples of a ray: no wall, seen as thick as its cells are, falls between two.
constexpr float kStepM = 0.5F;
constexpr size_t kMaxSamplesOfRay = 24;
// Where a ray ends it may graze the ground: neither this share of it nor this length counts.
constexpr float kSkippedEndRatio = 0.2F;
constexpr float kSkippedEndM = 1.0F;
// What lies within about this of a point of the scan is not known to be free.
constexpr float kClearanceM = 1.5F;
constexpr float kMaxGridCells = 1e7F;

// Which cubes hold points of the scan, or touch one that does. Points are offsets from the scan's
// origin.
class Occupancy {
 public:
  explicit Occupancy(const PointCloud& scan_base) {
    low_.setConstant(std::numeric_limits<float>::infinity());
    Eigen::Vector3f high = -low_;
    for (size_t i = 0; i < scan_base.size(); ++i) {
      if (!scan_base.IsFinite(i)) continue;
      low_ = low_.cwiseMin(scan_base.Offset(i));
      high = high.cwiseMax(scan_base.Offset(i));
    }
    const Eigen::Vector3f extent = high - low_;
    if (!extent.allFinite()) return;
    float edge_m = kClearanceM;
    while ((extent.array() / edge_m + 3.0F).prod() > kMaxGridCells) edge_m *= 2.0F;
    cubes_per_m_ = 1.0F / edge_m;
    size_ = PlaceOf(high).cast<int32_t>().array() + 2;
    near_in_layer_.assign(CubeOf(size_.cast<float>()) / 64 + 2, 0);
    for (size_t i = 0; i < scan_base.size(); ++i) {
      if (scan_base.IsFinite(i)) MarkInLayer(CubeOf(PlaceOf(scan_base.Offset(i))));
    }
  }

  // Whether the point's cube or one that touches it holds a point.
  [[nodiscard]] bool Near(const Eigen::Vector3f& offset) const {
    const Eigen::Array3f place = PlaceOf(offset);
    if (!((place >= 0.0F) && (place < size_.cast<float>())).all()) return false;
    const size_t cube = CubeOf(place);
    const size_t layer = LayerCubes();
    return (BitOf(cube - layer) | BitOf(cube) | BitOf(cube + layer)) != 0;
  }

 private:
  // Of the layers below and above, queries ask.
  void MarkInLayer(size_t cube) {
    const auto row = static_cast<size_t>(size_.x());
    for (const size_t middle : {cube - row, cube, cube + row}) {
      const size_t first = (middle - 1) % 64;
      uint64_t* const word = &near_in_layer_[(middle - 1) / 64];
      word[0] |= uint64_t{7} << first;
      word[1] |= uint64_t{7} >> 1 >> (63 - first);
    }
  }
  // In cubes. A border of empty ones is left, so that all neighbours are inside.
  [[nodiscard]] Eigen::Array3f PlaceOf(const Eigen::Vector3f& offset) const {
    return ((offset - low_) * cubes_per_m_).array() + 1.0F;
  }
  // Counted from the second layer, so that there is one below each.
  [[nodiscard]] size_t CubeOf(const Eigen::Array3f& place) const {
    const Eigen::Array<uint32_t, 3, 1> whole = place.cast<int32_t>().cast<uint32_t>();
    return LayerCubes() * (whole.z() + size_t{1}) + static_cast<size_t>(size_.x()) * whole.y() +
           whole.x();
  }
  [[nodiscard]] size_t LayerCubes() const {
    return static_cast<size_t>(size_.x()) * static_cast<size_t>(size_.y());
  }
  [[nodiscard]] uint64_t BitOf(size_t cube) const {
    return near_in_layer_[cube / 64] >> (cube % 64) & 1;
  }

  float cubes_per_m_ = 0.0F;
  Eigen::Vector3f low_ = Eigen::Vector3f::Zero();
  Eigen::Array3i size_ = Eigen::Array3i::Zero();
  // A bit for each cube: whether it or one that touches it in its layer holds a point.
  std::vector<uint64_t> near_in_layer_;
};

constexpr float kRaisedScanPoint_m = 0.7F;

std::vector<uint8_t> FindRaised(const PointCloud& scan_base, const Eigen::Quaterniond& map_R_base) {
  const Eigen::Matrix3f turn = map_R_base.toRotationMatrix().cast<float>();
  std::vector<Eigen::Vector3f> level(scan_base.size());
  for (size_t i = 0; i < scan_base.size(); ++i) level[i] = turn * scan_base.Offset(i);
  const GroundGrid ground(level);
  std::vector<uint8_t> raised(scan_base.size(), 0);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (level[i].allFinite() && ground.HeightOf(level[i]) > kRaisedScanPoint_m) raised[i] = 1;
  }
  return raised;
}

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

FreeSpace SampleFreeSpace(const PointCloud& scan_base,
                          const Eigen::Vector3d& sensor_position_base) {
  FreeSpace free_space;
  auto points = std::make_shared<PointCloud>();
  points->origin = sensor_position_base;
  const auto resize = [&](size_t count) {
    for (std::vector<float>* axis : {&points->x, &points->y, &points->z}) axis->resize(count);
    free_space.ray.resize(count);
  };
  // One more than can be, since a sample is written before it is known to count.
  resize(kMaxFreeSpaceRays * kMaxSamplesOfRay + 1);
  size_t count = 0;
  const Occupancy occupancy(scan_base);
  const Eigen::Vector3f sensor = (sensor_position_base - scan_base.origin).cast<float>();
  const size_t stride = std::max<size_t>(1, scan_base.size() / kMaxFreeSpaceRays);
  for (size_t i = 0; i < scan_base.size() && free_space.rays < kMaxFreeSpaceRays; i += stride) {
    if (!scan_base.IsFinite(i)) continue;
    const Eigen::Vector3f ray = scan_base.Offset(i) - sensor;
    const float range_m = ray.norm();
    const float end_m = std::min(range_m - kSkippedEndM, (1.0F - kSkippedEndRatio) * range_m);
    if (!(end_m > kStepM)) continue;
    const float step_m = std::max(kStepM, end_m / static_cast<float>(kMaxSamplesOfRay));
    const auto samples = static_cast<int>(end_m / step_m);
    const size_t before = count;
    for (int k = 1; k <= samples; ++k) {
      const Eigen::Vector3f offset = ray * (static_cast<float>(k) * step_m / range_m);
      points->x[count] = offset.x();
      points->y[count] = offset.y();
      points->z[count] = offset.z();
      free_space.ray[count] = static_cast<uint32_t>(free_space.rays);
      count += static_cast<size_t>(!occupancy.Near(sensor + offset));
    }
    if (count > before) ++free_space.rays;
  }
  resize(count);
  free_space.points_base = std::move(points);
  return free_space;
}

ScanShape ShapeOf(const PointCloud& scan_base, const ScanRays& rays,
                  const Eigen::Quaterniond& map_R_base) {
  const PointCloud& seen_base = rays.points_base == nullptr ? scan_base : *rays.points_base;
  return {FindRaised(scan_base, map_R_base), SampleFreeSpace(seen_base, rays.sensor_position_base)};
}

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
  // Through 32 bits: processors convert these faster.
  const auto x = static_cast<int32_t>((point.x() - low_.x()) * columns_per_m_);
  const auto y = static_cast<int32_t>((point.y() - low_.y()) * columns_per_m_);
  return (static_cast<size_t>(y) + 1) * width_ + static_cast<size_t>(x) + 1;
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
