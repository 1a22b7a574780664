// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/free_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace voxloc {
namespace {

// Between samples of a ray: no wall, seen as thick as its cells are, falls between two.
constexpr double kStepM = 0.5;
constexpr size_t kMaxSamplesOfRay = 48;
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
    edge_m_ = kClearanceM;
    while (Cells(extent) > kMaxGridCells) edge_m_ *= 2.0;
    // A border of empty cubes, so that all neighbours are inside.
    low_ = bounds.min.array() - edge_m_;
    for (int axis = 0; axis < 3; ++axis) {
      size_[axis] = static_cast<int64_t>(extent[axis] / edge_m_) + 3;
    }
    const auto cubes = static_cast<size_t>(size_.prod());
    std::vector<bool> occupied(cubes, false);
    near_.assign(cubes, false);
    for (size_t i = 0; i < scan_base.size(); ++i) {
      if (!scan_base.IsFinite(i)) continue;
      const Cube cube = CubeOf(scan_base.Point(i));
      if (occupied[Index(cube)]) continue;
      occupied[Index(cube)] = true;
      MarkAround(cube);
    }
  }

  // Whether the point's cube or one that touches it holds a point.
  [[nodiscard]] bool Near(const Eigen::Vector3d& point) const {
    const Cube cube = CubeOf(point);
    for (int axis = 0; axis < 3; ++axis) {
      if (cube[axis] < 1 || cube[axis] > size_[axis] - 2) return false;
    }
    return near_[Index(cube)];
  }

 private:
  using Cube = Eigen::Matrix<int64_t, 3, 1>;

  void MarkAround(const Cube& cube) {
    for (int64_t z = -1; z <= 1; ++z) {
      for (int64_t y = -1; y <= 1; ++y) {
        for (int64_t x = -1; x <= 1; ++x) near_[Index(cube + Cube(x, y, z))] = true;
      }
    }
  }
  [[nodiscard]] double Cells(const Eigen::Vector3d& extent) const {
    return (extent.array() / edge_m_ + 3.0).prod();
  }
  [[nodiscard]] Cube CubeOf(const Eigen::Vector3d& point) const {
    return ((point - low_) / edge_m_).array().floor().cast<int64_t>();
  }
  [[nodiscard]] size_t Index(const Cube& cube) const {
    return static_cast<size_t>((cube[2] * size_[1] + cube[1]) * size_[0] + cube[0]);
  }

  double edge_m_ = kClearanceM;
  Eigen::Vector3d low_ = Eigen::Vector3d::Zero();
  Cube size_ = Cube::Zero();
  std::vector<bool> near_;
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
