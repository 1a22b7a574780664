// SPDX-License-Identifier: Apache-2.0
//
// Which voxels of a map hold a surface, from its Gaussians. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_OCCUPIED_VOXELS_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_OCCUPIED_VOXELS_H_

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "core/map/resident_map.h"

namespace voxloc {

// Voxels of the lattice of size `voxel_m` whose middle lies within the ellipsoid of the Gaussian
// that a uniform spread would fill (sqrt(3) sigma), a voxel's own extent added. Appended.
void AddOccupiedVoxels(const MapCell& cell, double voxel_m, std::vector<CellKey>& voxels);

// Those of all Gaussians whose mean lies in the box; one may come several times. InvalidArgument:
// more than `max_voxels`.
[[nodiscard]] absl::StatusOr<std::vector<CellKey>> OccupiedVoxels(
    const ResidentMap& map, size_t statistics_index, const Eigen::Vector3d& min,
    const Eigen::Vector3d& max, double voxel_m, size_t max_voxels);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_OCCUPIED_VOXELS_H_
