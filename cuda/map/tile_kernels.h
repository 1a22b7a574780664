// SPDX-License-Identifier: Apache-2.0
//
// The steps from points to the moments of a tile's cells, on the device. Each queues its work on
// `stream` and returns; what the pointers name must stay until the work is done. All pointers are
// to device memory. Functions of no state: thread-safe. No sum depends on the order in which
// threads run.

#ifndef VOXLOC_CUDA_MAP_TILE_KERNELS_H_
#define VOXLOC_CUDA_MAP_TILE_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "core/map/tile_moments.h"
#include "cuda/cloud/scan_filter_kernels.h"
#include "cuda/runtime/device_sort.h"

namespace voxloc::cuda {

// Offsets from the tile's origin, metres.
struct PointColumns {
  const float* x;
  const float* y;
  const float* z;
  uint32_t count;
};

// Of the finite points. All zero at first.
struct PointSummary : OffsetBounds {
  uint32_t finite;
};

// A cell's key: its block relative to `first_block`, z highest, then y, then x, and below it the
// place in the block. Keys ascend as cells do in TileMoments.
struct CellKeyLayout {
  double origin_m[3];
  double cell_size_m;
  double inverse_cell_size;
  int32_t first_block[3];
  int bits[3];  // of a block's coordinate from first_block

  [[nodiscard]] int KeyBits() const { return bits[0] + bits[1] + bits[2] + 3 * kBlockBits; }
};

// Work arrays for `points` points. Keys and orders are double buffers of a radix sort; keys have 32
// or 64 bits.
struct CellArrays {
  bool wide_keys;
  void* keys[2];
  uint32_t* order[2];
  uint8_t* head;
  uint32_t* cell_begin;   // by cell: its first point in sorted order
  uint32_t* block_begin;  // by block: its first cell
  uint32_t* counts;       // number of cells, and of blocks
};

// The points by cell, in the order of the input within one.
struct SortedPoints {
  PointColumns points;
  CellKeyLayout layout;
  bool wide_keys;
  const void* keys;
  const uint32_t* order;
  uint32_t finite;
  const uint32_t* cell_begin;
  uint32_t cells;
};

cudaError_t SummarizePoints(const PointColumns& points, PointSummary* summary, cudaStream_t stream);

// Sorts the points by cell, those that are not finite last, finds where cells and blocks begin, and
// counts them. `sorted` is filled except for its number of cells, which only the device knows. A
// key has a bit to spare where some points are not finite. `finite` is at least 1.
cudaError_t SortIntoCells(const PointColumns& points, uint32_t finite, const CellKeyLayout& layout,
                          const CellArrays& arrays, const Scratch& scratch, SortedPoints* sorted,
                          cudaStream_t stream);

// The blocks of the cells, as the host knows them.
cudaError_t ListBlocks(const SortedPoints& sorted, const uint32_t* block_begin, uint32_t count,
                       TileMoments::Block* blocks, cudaStream_t stream);

// Places and moments of all cells, each moment within a few ulp of the sequential sum.
cudaError_t SumMoments(const SortedPoints& sorted, uint16_t* places, ndt::CellMoments* moments,
                       cudaStream_t stream);

// The float32 sums of all cells, each in the order of the input: bit for bit the CPU's.
cudaError_t SumFloats(const SortedPoints& sorted, FloatSum* sums, cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_TILE_KERNELS_H_
