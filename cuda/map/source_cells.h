// SPDX-License-Identifier: Apache-2.0
//
// The cells of tiles as the kernels of this module read them: for every block, the runs that tiles
// have there, in the order of the tiles. Device code reads it by value and through its pointers;
// the tiles must outlive it.

#ifndef VOXLOC_CUDA_MAP_SOURCE_CELLS_H_
#define VOXLOC_CUDA_MAP_SOURCE_CELLS_H_

#include <cstdint>

#include "core/map/cells.h"

namespace voxloc::cuda {

// One tile's cells in one block. Places ascend.
struct SourceRun {
  const uint16_t* places;
  const ndt::CellMoments* moments;
  const FloatSum* float_sums;  // null where the tile has none
  double origin_m[3];          // that float_sums refer to
  uint32_t cells;
};

struct SourceBlock {
  CellKey key;
  uint32_t first_run;
  uint32_t end_run;
  uint32_t first_entry;  // its Gaussians have room from here, an entry for each cell of its runs
};

struct SourceTable {
  const SourceRun* runs;
  const SourceBlock* blocks;
  uint32_t block_count;
  uint32_t entries;
};

// CellStatistics for kernels.
struct CellRules {
  explicit CellRules(const CellStatistics& statistics)
      : cell_size_m(statistics.cell_size_m),
        inverse_cell_size(1.0 / statistics.cell_size_m),
        gaussian(statistics.gaussian),
        merge_tiles(statistics.merge_tiles),
        float_index(statistics.float_index) {}

  double cell_size_m;
  double inverse_cell_size;
  ndt::GaussianOptions gaussian;
  bool merge_tiles;
  bool float_index;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_SOURCE_CELLS_H_
