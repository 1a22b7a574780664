// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc {
namespace {

// The ground is the lowest point of a column and its neighbours.
constexpr float kColumnM = 4.0F;
constexpr float kRaisedM = 0.7F;
// Columns are widened until the scan has no more of them: 1 km of them each way.
constexpr float kMaxColumns = 65536.0F;

// Heights above the lowest point nearby, from a grid of columns over the scan.
class GroundGrid {
 public:
  // Points are (x, y, height), level; those that are not finite count for nothing.
  explicit GroundGrid(const std::vector<Eigen::Vector3f>& points) {
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
    TakeLowestNearby(lowest);
  }

  [[nodiscard]] float HeightOf(const Eigen::Vector3f& point) const {
    return point.z() - lowest_nearby_[ColumnOf(point)];
  }

 private:
  // The least of each column and the eight around it: first along rows, then across them.
  void TakeLowestNearby(const std::vector<float>& lowest) {
    std::vector<float> along = lowest;
    for (size_t i = 1; i + 1 < lowest.size(); ++i) {
      along[i] = std::min({lowest[i - 1], lowest[i], lowest[i + 1]});
    }
    lowest_nearby_ = along;
    for (size_t i = width_; i + width_ < along.size(); ++i) {
      lowest_nearby_[i] = std::min({along[i - width_], along[i], along[i + width_]});
    }
  }

  [[nodiscard]] size_t ColumnOf(const Eigen::Vector3f& point) const {
    const auto x = static_cast<size_t>((point.x() - low_.x()) * columns_per_m_);
    const auto y = static_cast<size_t>((point.y() - low_.y()) * columns_per_m_);
    return (y + 1) * width_ + x + 1;
  }

  float columns_per_m_ = 0.0F;
  Eigen::Vector2f low_;
  size_t width_ = 0;
  std::vector<float> lowest_nearby_;
};

std::vector<uint8_t> FindRaised(const PointCloud& scan_base, const Eigen::Quaterniond& map_R_base) {
  const Eigen::Matrix3f turn = map_R_base.toRotationMatrix().cast<float>();
  std::vector<Eigen::Vector3f> level(scan_base.size());
  for (size_t i = 0; i < scan_base.size(); ++i) level[i] = turn * scan_base.Offset(i);
  const GroundGrid ground(level);
  std::vector<uint8_t> raised(scan_base.size(), 0);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (level[i].allFinite() && ground.HeightOf(level[i]) > kRaisedM) raised[i] = 1;
  }
  return raised;
}

}  // namespace

ScanShape ShapeOf(const PointCloud& scan_base, const ScanRays& rays,
                  const Eigen::Quaterniond& map_R_base) {
  const PointCloud& seen_base = rays.points_base == nullptr ? scan_base : *rays.points_base;
  return {FindRaised(scan_base, map_R_base), SampleFreeSpace(seen_base, rays.sensor_position_base)};
}

}  // namespace voxloc
