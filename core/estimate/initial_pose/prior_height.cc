// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/prior_height.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace voxloc {
namespace {

constexpr double kSigmas = 3.0;

// A search converges over this difference in height, or over this many cells if that is more.
constexpr double kReach_m = 2.0;
constexpr double kReachCells = 1.5;

// Around the prior, metres: the ground is there even where its place is exact, and a larger area
// says nothing of its height.
constexpr double kMinRadius_m = 5.0;
constexpr double kMaxRadius_m = 50.0;
constexpr size_t kMaxSurfaceCells = 1'000'000;

// A cell is level where it is this flat: its variance along z, as a share of that along x and y.
constexpr double kLevelShare = 0.1;

// The prior's height then is that of a median: the ground around it may be uneven.
constexpr double kMinSigma_m = 1.0;
// Of the points of a scan, the share that is taken to be below the ground by noise.
constexpr double kLowestShare = 0.05;

double QuantileOf(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// How high the base is over the lowest points of its scan.
double HeightOverGround(const PointCloud& scan_base) {
  std::vector<double> heights;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (scan_base.IsFinite(i)) heights.push_back(scan_base.Point(i).z());
  }
  return heights.empty() ? 0.0 : -QuantileOf(std::move(heights), kLowestShare);
}

}  // namespace

std::optional<PriorHeight> HeightOnSurface(absl::Span<const MapCell> cells, double cell_size_m,
                                           const PointCloud& scan_base,
                                           const PriorSearchOptions& prior) {
  const double sigma_m = std::sqrt(prior.covariance(2, 2));
  const double over_ground_m = HeightOverGround(scan_base);
  const double ground_m = prior.map_T_base.translation.z() - over_ground_m;
  const double tolerance_m = kSigmas * sigma_m + std::max(kReach_m, kReachCells * cell_size_m);
  std::map<std::pair<int64_t, int64_t>, double> lowest;  // of each column
  for (const MapCell& cell : cells) {
    const ndt::Symmetric3<double>& c = cell.covariance;
    if (c.zz > kLevelShare * (c.xx + c.yy)) continue;
    if (std::abs(cell.mean.z() - ground_m) <= tolerance_m) return std::nullopt;
    const auto [column, added] = lowest.try_emplace({cell.key.x, cell.key.y}, cell.mean.z());
    if (!added) column->second = std::min(column->second, cell.mean.z());
  }
  if (lowest.empty()) return std::nullopt;
  std::vector<double> heights;
  heights.reserve(lowest.size());
  for (const auto& [column, height] : lowest) heights.push_back(height);
  const double spread_m = 0.5 * (QuantileOf(heights, 0.9) - QuantileOf(heights, 0.1));
  return PriorHeight{QuantileOf(heights, 0.5) + over_ground_m,
                     std::max({sigma_m, spread_m, kMinSigma_m})};
}

absl::StatusOr<std::optional<PriorHeight>> HeightOnSurface(const ResidentMap& map,
                                                           size_t statistics_index,
                                                           const Bounds& bounds,
                                                           const PointCloud& scan_base,
                                                           const PriorSearchOptions& prior) {
  const double sigma_m = std::sqrt(prior.covariance.diagonal().head<2>().maxCoeff());
  const double radius_m = std::clamp(kSigmas * sigma_m, kMinRadius_m, kMaxRadius_m);
  const Eigen::Vector2d center = prior.map_T_base.translation.head<2>();
  Eigen::Vector3d min = bounds.min;
  Eigen::Vector3d max = bounds.max;
  min.head<2>() = min.head<2>().cwiseMax((center.array() - radius_m).matrix());
  max.head<2>() = max.head<2>().cwiseMin((center.array() + radius_m).matrix());
  if (bounds.finite_points == 0 || (min.array() > max.array()).any()) {
    return std::optional<PriorHeight>();
  }
  const auto cells = map.CellsInBox(statistics_index, min, max, kMaxSurfaceCells);
  // This many cells: the area is too large to estimate one height.
  if (absl::IsResourceExhausted(cells.status())) return std::optional<PriorHeight>();
  if (!cells.ok()) return cells.status();
  return HeightOnSurface(*cells, map.statistics()[statistics_index].cell_size_m, scan_base, prior);
}

}  // namespace voxloc
