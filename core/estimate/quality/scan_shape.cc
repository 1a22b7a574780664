// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/estimate/quality/ground.h"

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
    for (int axis = 0; axis < 3; ++axis) size_[axis] = static_cast<size_t>(PlaceOf(high)[axis]) + 2;
    const size_t words = size_.prod() / 64 + 2;
    near_.assign(words, 0);
    std::vector<uint64_t> occupied(words, 0);
    for (size_t i = 0; i < scan_base.size(); ++i) {
      if (!scan_base.IsFinite(i)) continue;
      const size_t cube = CubeOf(PlaceOf(scan_base.Offset(i)));
      const uint64_t bit = uint64_t{1} << (cube % 64);
      if ((occupied[cube / 64] & bit) != 0) continue;
      occupied[cube / 64] |= bit;
      MarkAround(cube);
    }
  }

  // Whether the point's cube or one that touches it holds a point.
  [[nodiscard]] bool Near(const Eigen::Vector3f& offset) const {
    const Eigen::Vector3f place = PlaceOf(offset);
    for (int axis = 0; axis < 3; ++axis) {
      if (!(place[axis] >= 0.0F && place[axis] < static_cast<float>(size_[axis]))) return false;
    }
    const size_t cube = CubeOf(place);
    return (near_[cube / 64] >> (cube % 64) & 1) != 0;
  }

 private:
  void MarkAround(size_t cube) {
    const size_t layer = size_[0] * size_[1];
    for (const size_t middle : {cube - layer, cube, cube + layer}) {
      for (const size_t row : {middle - size_[0], middle, middle + size_[0]}) {
        const size_t first = (row - 1) % 64;
        uint64_t* const word = &near_[(row - 1) / 64];
        word[0] |= uint64_t{7} << first;
        if (first > 61) word[1] |= uint64_t{7} >> (64 - first);
      }
    }
  }
  // In cubes. A border of empty ones is left, so that all neighbours are inside.
  [[nodiscard]] Eigen::Vector3f PlaceOf(const Eigen::Vector3f& offset) const {
    return ((offset - low_) * cubes_per_m_).array() + 1.0F;
  }
  [[nodiscard]] size_t CubeOf(const Eigen::Vector3f& place) const {
    return (static_cast<size_t>(place.z()) * size_[1] + static_cast<size_t>(place.y())) * size_[0] +
           static_cast<size_t>(place.x());
  }

  float cubes_per_m_ = 0.0F;
  Eigen::Vector3f low_ = Eigen::Vector3f::Zero();
  Eigen::Array<size_t, 3, 1> size_ = {0, 0, 0};
  std::vector<uint64_t> near_;  // a bit for each cube
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

}  // namespace

FreeSpace SampleFreeSpace(const PointCloud& scan_base,
                          const Eigen::Vector3d& sensor_position_base) {
  FreeSpace free_space;
  auto points = std::make_shared<PointCloud>();
  points->origin = sensor_position_base;
  points->Reserve(kMaxFreeSpaceRays * kMaxSamplesOfRay);
  free_space.ray.reserve(kMaxFreeSpaceRays * kMaxSamplesOfRay);
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
    const size_t before = points->size();
    for (int k = 1; k <= samples; ++k) {
      const Eigen::Vector3f offset = ray * (static_cast<float>(k) * step_m / range_m);
      if (occupancy.Near(sensor + offset)) continue;
      points->PushBack(offset.x(), offset.y(), offset.z());
      free_space.ray.push_back(static_cast<uint32_t>(free_space.rays));
    }
    if (points->size() > before) ++free_space.rays;
  }
  free_space.points_base = std::move(points);
  return free_space;
}

ScanShape ShapeOf(const PointCloud& scan_base, const ScanRays& rays,
                  const Eigen::Quaterniond& map_R_base) {
  const PointCloud& seen_base = rays.points_base == nullptr ? scan_base : *rays.points_base;
  return {FindRaised(scan_base, map_R_base), SampleFreeSpace(seen_base, rays.sensor_position_base)};
}

}  // namespace voxloc
