// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/free_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace voxloc {
namespace {

// Between samples of a ray: no wall, seen as thick as its cells are, falls between two.
constexpr double kStepM = 0.5;
constexpr size_t kMaxSamplesOfRay = 24;
// Where a ray ends it may graze the ground: neither this share of it nor this length counts.
constexpr double kLastShare = 0.2;
constexpr double kLastLengthM = 1.0;
// What lies within about this of a point of the scan is not known to be free.
constexpr double kClearanceM = 1.5;
constexpr double kMaxGridCells = 1e7;

// Which cubes hold points of the scan, or touch one that does.
class Occupancy {
 public:
  explicit Occupancy(const PointCloud& scan_base) {
    const Bounds bounds = ComputeBounds(scan_base);
    if (bounds.finite_points == 0) return;
    const Eigen::Vector3d extent = bounds.max - bounds.min;
    while ((extent.array() / edge_m_ + 3.0).prod() > kMaxGridCells) edge_m_ *= 2.0;
    // A border of empty cubes, so that all neighbours are inside.
    low_ = bounds.min.array() - edge_m_;
    for (int axis = 0; axis < 3; ++axis) size_[axis] = CubeAlong(axis, bounds.max[axis]) + 2;
    const size_t words = size_[0] * size_[1] * size_[2] / 64 + 2;
    near_.assign(words, 0);
    std::vector<uint64_t> occupied(words, 0);
    for (size_t i = 0; i < scan_base.size(); ++i) {
      if (!scan_base.IsFinite(i)) continue;
      const size_t cube = CubeOf(scan_base.Point(i));
      const uint64_t bit = uint64_t{1} << (cube % 64);
      if ((occupied[cube / 64] & bit) != 0) continue;
      occupied[cube / 64] |= bit;
      MarkAround(cube);
    }
  }

  // Whether the point's cube or one that touches it holds a point.
  [[nodiscard]] bool Near(const Eigen::Vector3d& point) const {
    for (int axis = 0; axis < 3; ++axis) {
      if (!(point[axis] >= low_[axis])) return false;
      if (!(point[axis] < low_[axis] + static_cast<double>(size_[axis]) * edge_m_)) return false;
    }
    const size_t cube = CubeOf(point);
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
  [[nodiscard]] size_t CubeAlong(int axis, double coordinate) const {
    return static_cast<size_t>((coordinate - low_[axis]) / edge_m_);
  }
  [[nodiscard]] size_t CubeOf(const Eigen::Vector3d& point) const {
    return (CubeAlong(2, point.z()) * size_[1] + CubeAlong(1, point.y())) * size_[0] +
           CubeAlong(0, point.x());
  }

  double edge_m_ = kClearanceM;
  Eigen::Vector3d low_ = Eigen::Vector3d::Zero();
  std::array<size_t, 3> size_ = {};
  std::vector<uint64_t> near_;  // a bit for each cube
};

}  // namespace

FreeSpace SampleFreeSpace(const PointCloud& scan_base,
                          const Eigen::Vector3d& sensor_position_base) {
  FreeSpace free_space;
  auto points = std::make_shared<PointCloud>();
  points->origin = sensor_position_base;
  const Occupancy occupancy(scan_base);
  const size_t stride = std::max<size_t>(1, scan_base.size() / kMaxFreeSpaceRays);
  for (size_t i = 0; i < scan_base.size() && free_space.rays < kMaxFreeSpaceRays; i += stride) {
    if (!scan_base.IsFinite(i)) continue;
    const Eigen::Vector3d ray = scan_base.Point(i) - sensor_position_base;
    const double range_m = ray.norm();
    const double end_m = std::min(range_m - kLastLengthM, (1.0 - kLastShare) * range_m);
    if (!(end_m > kStepM)) continue;
    const double step_m = std::max(kStepM, end_m / static_cast<double>(kMaxSamplesOfRay));
    const size_t before = points->size();
    for (double at_m = step_m; at_m <= end_m; at_m += step_m) {
      const Eigen::Vector3d offset = ray * (at_m / range_m);
      if (occupancy.Near(sensor_position_base + offset)) continue;
      const Eigen::Vector3f point = offset.cast<float>();
      points->PushBack(point.x(), point.y(), point.z());
      free_space.ray.push_back(static_cast<uint32_t>(free_space.rays));
    }
    if (points->size() > before) ++free_space.rays;
  }
  free_space.points_base = std::move(points);
  return free_space;
}

}  // namespace voxloc
