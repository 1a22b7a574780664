// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/ground_grid.h"

#include <algorithm>
#include <limits>

namespace voxloc {
namespace {

constexpr float kColumnM = 4.0F;
// Columns are widened until there are no more of them: 1 km of them each way.
constexpr float kMaxColumns = 65536.0F;

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

}  // namespace voxloc
