// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/map_fit/fit_cells.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/ndt/symmetric3.h"

namespace voxloc {
namespace {

// 64 MB of places.
constexpr int64_t kMaxPlaces = int64_t{1} << 24;
// Points that fill a cell evenly spread by 0.29 of its edge along each axis. Across a plane they
// spread by less than a third of that, and along it, at the edge of a wall, by at least half of it.
constexpr double kFlatShare = 0.1;
constexpr double kWideShare = 0.14;

FitCell FitCellOf(const MapCell& cell, double cell_size_m, const Eigen::Vector3d& centre_map,
                  double tolerance_sigma_m) {
  FitCell fit;
  fit.mean = (cell.mean - centre_map).cast<float>();
  const Eigen::Matrix3d seen = ToMatrix(cell.covariance) +
                               tolerance_sigma_m * tolerance_sigma_m * Eigen::Matrix3d::Identity();
  fit.information = seen.inverse().cast<float>();
  const auto eigen = ndt::EigenDecompose(cell.covariance);
  fit.normal = {static_cast<float>(eigen.vector[0].x), static_cast<float>(eigen.vector[0].y),
                static_cast<float>(eigen.vector[0].z)};
  const double sigma = std::sqrt(std::max(0.0, eigen.value[0]));
  fit.normal_sigma_m = static_cast<float>(sigma);
  fit.solid = sigma <= kFlatShare * cell_size_m &&
              std::sqrt(std::max(0.0, eigen.value[1])) >= kWideShare * cell_size_m;
  return fit;
}

}  // namespace

absl::StatusOr<FitCells> FitCells::Make(const std::vector<MapCell>& cells, double cell_size_m,
                                        const Eigen::Vector3d& centre_map,
                                        double tolerance_sigma_m) {
  FitCells fit;
  fit.centre_map_ = centre_map;
  fit.cell_size_m_ = static_cast<float>(cell_size_m);
  fit.cells_per_m_ = static_cast<float>(1.0 / cell_size_m);
  if (cells.empty()) return fit;
  const auto place_of = [](const CellKey& key) { return Eigen::Vector3i(key.x, key.y, key.z); };
  Eigen::Vector3i low = place_of(cells.front().key);
  Eigen::Vector3i high = low;
  for (const MapCell& cell : cells) {
    low = low.cwiseMin(place_of(cell.key));
    high = high.cwiseMax(place_of(cell.key));
  }
  fit.size_ = (high - low).array() + 1;
  const int64_t places = fit.size_.cast<int64_t>().prod();
  if (places > kMaxPlaces) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the cells span ", places, " places of their lattice, more than ", kMaxPlaces));
  }
  fit.shift_ = (centre_map / cell_size_m - low.cast<double>()).cast<float>();
  fit.first_.assign(static_cast<size_t>(places), kNone);
  fit.end_.assign(cells.size(), 0);
  fit.cells_.reserve(cells.size());
  for (size_t i = 0; i < cells.size();) {
    const Eigen::Vector3i place = place_of(cells[i].key) - low;
    const auto begin = static_cast<uint32_t>(i);
    for (; i < cells.size() && cells[i].key == cells[begin].key; ++i) {
      fit.cells_.push_back(FitCellOf(cells[i], cell_size_m, centre_map, tolerance_sigma_m));
    }
    const size_t at = (static_cast<size_t>(place.z()) * static_cast<size_t>(fit.size_.y()) +
                       static_cast<size_t>(place.y())) *
                          static_cast<size_t>(fit.size_.x()) +
                      static_cast<size_t>(place.x());
    fit.first_[at] = begin;
    fit.end_[begin] = static_cast<uint32_t>(i);
  }
  return fit;
}

}  // namespace voxloc
