// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxloc {
namespace {

// The ground is the lowest point of a column and its neighbours.
constexpr double kColumnM = 4.0;
constexpr double kRaisedM = 0.7;
// Columns are widened until the scan has no more of them.
constexpr double kMaxColumns = 1e6;

// Heights above the lowest point nearby, from a grid of columns over the scan.
class GroundGrid {
 public:
  // Points are (x, y, height), level.
  explicit GroundGrid(const std::vector<Eigen::Vector3d>& points) {
    low_.setConstant(std::numeric_limits<double>::infinity());
    Eigen::Vector2d high = -low_;
    for (const Eigen::Vector3d& point : points) {
      if (!point.allFinite()) continue;
      low_ = low_.cwiseMin(point.head<2>());
      high = high.cwiseMax(point.head<2>());
    }
    const Eigen::Vector2d extent = high - low_;
    if (!extent.allFinite()) return;
    while ((extent.array() / edge_m_ + 1.0).prod() > kMaxColumns) edge_m_ *= 2.0;
    // A border of empty columns, so that all neighbours are inside.
    width_ = static_cast<size_t>(extent.x() / edge_m_) + 3;
    const size_t height = static_cast<size_t>(extent.y() / edge_m_) + 3;
    lowest_.assign(width_ * height, std::numeric_limits<double>::infinity());
    for (const Eigen::Vector3d& point : points) {
      if (!point.allFinite()) continue;
      double& lowest = lowest_[ColumnOf(point)];
      lowest = std::min(lowest, point.z());
    }
  }

  [[nodiscard]] double HeightOf(const Eigen::Vector3d& point) const {
    const size_t column = ColumnOf(point);
    double lowest = lowest_[column];
    for (const size_t row : {column - width_, column, column + width_}) {
      lowest = std::min({lowest, lowest_[row - 1], lowest_[row], lowest_[row + 1]});
    }
    return point.z() - lowest;
  }

 private:
  [[nodiscard]] size_t ColumnOf(const Eigen::Vector3d& point) const {
    const auto x = static_cast<size_t>((point.x() - low_.x()) / edge_m_);
    const auto y = static_cast<size_t>((point.y() - low_.y()) / edge_m_);
    return (y + 1) * width_ + x + 1;
  }

  double edge_m_ = kColumnM;
  Eigen::Vector2d low_;
  size_t width_ = 0;
  std::vector<double> lowest_;
};

std::vector<uint8_t> FindRaised(const PointCloud& scan_base, const Eigen::Quaterniond& map_R_base) {
  const Eigen::Matrix3d turn = map_R_base.toRotationMatrix();
  std::vector<Eigen::Vector3d> level(scan_base.size());
  for (size_t i = 0; i < scan_base.size(); ++i) level[i] = turn * scan_base.Point(i);
  const GroundGrid ground(level);
  std::vector<uint8_t> raised(scan_base.size(), 0);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (level[i].allFinite() && ground.HeightOf(level[i]) > kRaisedM) raised[i] = 1;
  }
  return raised;
}

std::vector<uint8_t> FindSectors(const PointCloud& scan_base,
                                 const Eigen::Vector3d& sensor_position_base) {
  constexpr auto kSectorsPerTurn = static_cast<float>(kSectors);
  const Eigen::Vector3f shift = (scan_base.origin - sensor_position_base).cast<float>();
  std::vector<uint8_t> sectors(scan_base.size(), 0);
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i)) continue;
    const float angle = std::atan2(scan_base.y[i] + shift.y(), scan_base.x[i] + shift.x());
    const float turn = angle / static_cast<float>(2.0 * M_PI) + 0.5F;
    sectors[i] =
        static_cast<uint8_t>(std::clamp(turn * kSectorsPerTurn, 0.0F, kSectorsPerTurn - 1.0F));
  }
  return sectors;
}

}  // namespace

ScanShape ShapeOf(const PointCloud& scan_base, const Eigen::Vector3d& sensor_position_base,
                  const Eigen::Quaterniond& map_R_base) {
  return {FindSectors(scan_base, sensor_position_base), FindRaised(scan_base, map_R_base),
          SampleFreeSpace(scan_base, sensor_position_base)};
}

}  // namespace voxloc
