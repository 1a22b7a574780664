// SPDX-License-Identifier: Apache-2.0
//
// SourceList: the runs of tiles' cells that a composition reads, block by block. A plain value on
// the host, uploaded as a SourceTable.

#ifndef VOXLOC_CUDA_MAP_SOURCE_LIST_H_
#define VOXLOC_CUDA_MAP_SOURCE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda/map/block_set.h"
#include "cuda/map/cell_kernels.h"
#include "cuda/map/cuda_tile.h"

namespace voxloc::cuda {

struct SourceList {
  std::vector<SourceBlock> blocks;  // ascending by key
  std::vector<SourceRun> runs;      // by block, then in the order of the tiles
  uint32_t entries = 0;             // cells of all runs
  BlockBox box;                     // around the blocks
};

// The runs of the blocks that pass the filter, each of which must lie in one of the regions: tiles
// outside all regions are skipped. All tiles must have a lattice of that size.
// ResourceExhausted: more cells than can be counted.
[[nodiscard]] absl::StatusOr<SourceList> CollectSources(
    absl::Span<const std::shared_ptr<const CudaTile>> tiles, double cell_size_m,
    absl::Span<const BlockBox> regions, absl::FunctionRef<bool(const CellKey&)> filter);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_SOURCE_LIST_H_
