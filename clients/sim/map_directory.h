// SPDX-License-Identifier: Apache-2.0
//
// Writes a map as Autoware keeps it:
//
//   DIR/pointcloud_map_metadata.yaml
//   DIR/pointcloud_map.pcd/<x>_<y>.pcd     x, y: the tile's lowest corner, whole metres
//
// Stateless; nothing is shared between calls.

#ifndef VOXLOC_CLIENTS_SIM_MAP_DIRECTORY_H_
#define VOXLOC_CLIENTS_SIM_MAP_DIRECTORY_H_

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "clients/dataset/tile_spill.h"

namespace voxloc::sim {

// Writes the tiles of a map, whose edges lie on multiples of tile_size_m, a whole number of metres,
// in the map's coordinates. A map whose points lie around a zero `origin` is written in float32,
// any other in float64. The directory is made where it is missing.
[[nodiscard]] absl::Status WriteMapDirectory(
    const std::string& directory, const TileSpill& tiles, const Eigen::Vector3d& origin,
    int tile_size_m, int threads,
    const std::function<void(size_t done, size_t total)>& progress = nullptr);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_MAP_DIRECTORY_H_
