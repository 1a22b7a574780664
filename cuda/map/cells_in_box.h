// SPDX-License-Identifier: Apache-2.0
//
// The cells of a map as people and tests see them, in double: computed on the device from the
// tiles' moments, only those asked for come down. Thread-safe: each call has a stream and memory of
// its own and returns when both are done with.

#ifndef VOXLOC_CUDA_MAP_CELLS_IN_BOX_H_
#define VOXLOC_CUDA_MAP_CELLS_IN_BOX_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/cells.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// See ResidentMap::CellsInBox. All tiles must have the statistics' lattice.
[[nodiscard]] absl::StatusOr<std::vector<MapCell>> DownloadCells(
    const std::shared_ptr<Device>& device, absl::Span<const std::shared_ptr<const CudaTile>> tiles,
    const CellStatistics& statistics, const Eigen::Vector3d& min, const Eigen::Vector3d& max,
    size_t max_cells);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CELLS_IN_BOX_H_
