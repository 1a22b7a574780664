// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/engine/near_reference.h"

#include "core/map/lattice.h"

namespace voxloc::reference {
namespace {

// A point reaches cells up to twice the cell size away; one more covers what rounding moves.
constexpr double kReach = 3.0;

void Add(const Evaluation& part, const std::vector<size_t>& points, Evaluation& sums) {
  sums.score += part.score;
  sums.gradient += part.gradient;
  sums.hessian += part.hessian;
  sums.gradient_magnitude += part.gradient_magnitude;
  sums.hessian_magnitude += part.hessian_magnitude;
  sums.gradient_terms += part.gradient_terms;
  for (size_t i = 0; i < points.size(); ++i) sums.best[points[i]] = part.best[i];
  sums.points += part.points;
  sums.matched_points += part.matched_points;
  sums.pairs += part.pairs;
  sums.undecided_pairs += part.undecided_pairs;
}

}  // namespace

NearReference::NearReference(const std::vector<MapCell>& cells, double cell_size_m)
    : edge_m_(kReach * cell_size_m) {
  for (const MapCell& cell : cells) cells_[NeighborhoodOf(cell.index)].push_back(cell);
}

Evaluation NearReference::Evaluate(const PointCloud& scan, const ChartVector& chart,
                                   const Stage& stage) const {
  const Pose map_T_base = PoseFromChart(chart);
  std::map<CellKey, std::vector<size_t>> neighborhoods;
  for (size_t i = 0; i < scan.size(); ++i) {
    if (scan.IsFinite(i)) neighborhoods[NeighborhoodOf(map_T_base * scan.Point(i))].push_back(i);
  }
  Evaluation sums;
  sums.best.assign(scan.size(), 0.0);
  for (const auto& [neighborhood, points] : neighborhoods) {
    PointCloud part;
    part.origin = scan.origin;
    for (const size_t i : points) part.PushBack(scan.x[i], scan.y[i], scan.z[i]);
    Add(reference::Evaluate(CellsAround(neighborhood), part, chart, stage), points, sums);
  }
  return sums;
}

CellKey NearReference::NeighborhoodOf(const Eigen::Vector3d& point) const {
  return CellOf(point, edge_m_);
}

std::vector<MapCell> NearReference::CellsAround(const CellKey& neighborhood) const {
  std::vector<MapCell> around;
  for (int dx = -1; dx <= 1; ++dx) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dz = -1; dz <= 1; ++dz) {
        const auto found =
            cells_.find({neighborhood.x + dx, neighborhood.y + dy, neighborhood.z + dz});
        if (found == cells_.end()) continue;
        around.insert(around.end(), found->second.begin(), found->second.end());
      }
    }
  }
  return around;
}

}  // namespace voxloc::reference
