// SPDX-License-Identifier: Apache-2.0
//
// From the moments of tiles to Gaussians, on the device, as ComposeCells does it, in double and in
// the same order (cell_kernels.cu); and from sorted Gaussians to the chunks and the hash table that
// cell_blocks.h describes (list_kernels.cu). The functions queue their work on `stream` and return;
// what the pointers name must stay until the work is done. All pointers are to device memory.
// Functions of no state: thread-safe.

#ifndef VOXLOC_CUDA_MAP_CELL_KERNELS_H_
#define VOXLOC_CUDA_MAP_CELL_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/map/cells.h"
#include "cuda/map/cell_blocks.h"

namespace voxloc::cuda {

// The cells of tiles as the kernels of this module read them: for every block, the runs that tiles
// have there, in the order of the tiles. Device code reads it by value and through its pointers;
// the tiles must outlive it.

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
  uint32_t first_entry;  // of its Gaussians, one entry for each cell of its runs
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

// How the lattice cell of an index position becomes a key: its block relative to `first`, z
// highest, then y, then x, and below it the place in the block.
struct IndexKeyLayout {
  int32_t first[3];
  uint32_t size[3];  // blocks along each axis
  int bits[3];       // of a block's coordinate from `first`

  [[nodiscard]] int KeyBits() const { return bits[0] + bits[1] + bits[2] + 3 * kBlockBits; }
};

// What a chunk holds of a Gaussian. Positions are in metres from the low corner of the lattice cell
// that the index position lies in.
struct alignas(16) IndexedGaussian {
  float information[6];  // xx xy xz yy yz zz, 1/m^2
  float index[3];
  float mean[3];
};

// A block that contains the index position of a cell of another block.
struct Spill {
  uint32_t source_block;
  CellKey block;
};

// One entry for each cell of every source run; `gaussians_per_block` one for each source block.
struct GaussianArrays {
  uint2* sources;  // work array
  uint64_t* keys;  // 1 << KeyBits() where there is no Gaussian, or its key does not fit
  uint32_t* numbers;
  IndexedGaussian* gaussians;
  uint32_t* gaussians_per_block;  // Gaussians
  Spill* spills;                  // in no particular order, the same block perhaps many times
  uint32_t spill_capacity;
  uint32_t* spill_count;  // all of them, also those beyond the capacity
};
cudaError_t ComputeGaussians(const SourceTable& table, const CellRules& rules,
                             const IndexKeyLayout& layout, const GaussianArrays& arrays,
                             cudaStream_t stream);

// MapCell as a plain struct, for the transfer to the host.
struct PlainCell {
  CellKey key;
  uint64_t count;
  double mean[3];
  double index[3];
  ndt::Symmetric3<double> covariance;
  ndt::Symmetric3<double> information;
};

struct CellBox {
  double min[3];
  double max[3];
};

// Cells in ComposeCells' order, with gaps: `keep` says which entries hold a cell whose mean lies in
// the box.
cudaError_t ComputeCells(const SourceTable& table, const CellRules& rules, const CellBox& box,
                         uint2* sources, PlainCell* cells, uint8_t* keep, cudaStream_t stream);
// The entries that `selected` names, in its order.
cudaError_t GatherCells(const PlainCell* cells, const uint32_t* selected, uint32_t count,
                        PlainCell* gathered, cudaStream_t stream);

// Gaussians by the lattice cell of their index position. Must hold all of the blocks to be made and
// of those around them.
struct SortedGaussians {
  const uint64_t* keys;
  const uint32_t* numbers;  // of entries in `gaussians`
  uint32_t count;
  const IndexedGaussian* gaussians;
  IndexKeyLayout layout;
  float cell_size_m;
  bool float_index;  // chunks have means beside the index positions
};

struct TargetSize {
  uint32_t candidates;  // with those that fill up the lists
  uint32_t records;
  uint32_t cells;  // Gaussians whose index position lies in the block
};

// Computes the sizes of the chunk of each target.
cudaError_t MeasureLists(const SortedGaussians& sorted, const CellKey* targets, uint32_t count,
                         TargetSize* sizes, cudaStream_t stream);
// Writes the chunks, of at most kMaxRecords records; null ones are left out.
cudaError_t FillLists(const SortedGaussians& sorted, const CellKey* targets, uint32_t count,
                      std::byte* const* chunks, cudaStream_t stream);

struct ChunkMove {
  const std::byte* from;
  std::byte* to;
  uint32_t bytes;  // a multiple of kSectorBytes
};
cudaError_t MoveChunks(const ChunkMove* moves, uint32_t count, cudaStream_t stream);

struct SlotUpdate {
  CellKey block;
  const std::byte* chunk;
};
// Empties a table of `slots` slots.
cudaError_t ClearSlots(BlockSlot* slots, uint32_t count, cudaStream_t stream);
// Sets the chunks of blocks, each listed once; new blocks get a slot, for which there is space.
cudaError_t UpdateSlots(const CellBlocks& table, BlockSlot* slots, const SlotUpdate* updates,
                        uint32_t count, cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CELL_KERNELS_H_
