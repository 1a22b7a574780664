// SPDX-License-Identifier: Apache-2.0
//
// From sorted Gaussians to the chunks and the hash table that cell_blocks.h describes, on the
// device. Each function queues its work on `stream` and returns; what the pointers name must stay
// until the work is done. All pointers are to device memory. Functions of no state: thread-safe.

#ifndef VOXLOC_CUDA_MAP_LIST_KERNELS_H_
#define VOXLOC_CUDA_MAP_LIST_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/map/cell_blocks.h"
#include "cuda/map/cell_kernels.h"

namespace voxloc::cuda {

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

#endif  // VOXLOC_CUDA_MAP_LIST_KERNELS_H_
