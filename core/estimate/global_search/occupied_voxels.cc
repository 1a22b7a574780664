// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/occupied_voxels.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

// Cells asked for at a time; a box with more is halved.
constexpr size_t kCellsAtATime = size_t{1} << 20;
// A uniform spread ends at this many sigma, squared.
constexpr double kSquaredSigmas = 3.0;

Eigen::Matrix3d ToMatrix(const ndt::Symmetric3<double>& s) {
  Eigen::Matrix3d m;
  m << s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz;
  return m;
}

absl::Status Collect(const ResidentMap& map, size_t statistics_index, const Eigen::Vector3d& min,
                     const Eigen::Vector3d& max, double voxel_m, size_t max_voxels,
                     std::vector<CellKey>& voxels) {
  const absl::StatusOr<std::vector<MapCell>> cells =
      map.CellsInBox(statistics_index, min, max, kCellsAtATime);
  if (cells.ok()) {
    for (const MapCell& cell : *cells) AddOccupiedVoxels(cell, voxel_m, voxels);
    if (voxels.size() <= max_voxels) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the map has more than ", max_voxels, " occupied voxels there"));
  }
  int axis = 0;
  const double edge_m = (max - min).maxCoeff(&axis);
  const bool splittable = edge_m > map.statistics()[statistics_index].cell_size_m;
  if (!absl::IsResourceExhausted(cells.status()) || !splittable) return cells.status();
  Eigen::Vector3d lower_max = max;
  Eigen::Vector3d upper_min = min;
  lower_max[axis] = upper_min[axis] = 0.5 * (min[axis] + max[axis]);
  absl::Status status = Collect(map, statistics_index, min, lower_max, voxel_m, max_voxels, voxels);
  if (!status.ok()) return status;
  return Collect(map, statistics_index, upper_min, max, voxel_m, max_voxels, voxels);
}

}  // namespace

void AddOccupiedVoxels(const MapCell& cell, double voxel_m, std::vector<CellKey>& voxels) {
  const Eigen::Matrix3d spread =
      ToMatrix(cell.covariance) + Eigen::Matrix3d::Identity() * (voxel_m * voxel_m / 12.0);
  const Eigen::Matrix3d information = spread.inverse();
  const Eigen::Vector3d half_box = (kSquaredSigmas * spread.diagonal()).cwiseSqrt();
  const CellKey low = CellOf(cell.mean - half_box, voxel_m);
  const CellKey high = CellOf(cell.mean + half_box, voxel_m);
  for (int32_t z = low.z; z <= high.z; ++z) {
    for (int32_t y = low.y; y <= high.y; ++y) {
      for (int32_t x = low.x; x <= high.x; ++x) {
        const CellKey voxel = {x, y, z};
        const Eigen::Vector3d from_mean = CellCentre(voxel, voxel_m) - cell.mean;
        if (from_mean.dot(information * from_mean) <= kSquaredSigmas) voxels.push_back(voxel);
      }
    }
  }
}

absl::StatusOr<std::vector<CellKey>> OccupiedVoxels(const ResidentMap& map, size_t statistics_index,
                                                    const Eigen::Vector3d& min,
                                                    const Eigen::Vector3d& max, double voxel_m,
                                                    size_t max_voxels) {
  // No cell lies beyond, and halves of infinity would never end.
  const double border_m = kMaxCellIndex * map.statistics()[statistics_index].cell_size_m;
  std::vector<CellKey> voxels;
  const absl::Status status = Collect(map, statistics_index, min.cwiseMax(-border_m),
                                      max.cwiseMin(border_m), voxel_m, max_voxels, voxels);
  if (!status.ok()) return status;
  return voxels;
}

}  // namespace voxloc
