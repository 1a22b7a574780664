// SPDX-License-Identifier: Apache-2.0
//
// How the cells of a map lie in device memory, for the kernels that match points against them.
//
// Cells are grouped by blocks of 8x8x8 lattice cells. For every lattice cell of a block there is
// the list of all Gaussians that a point in it can reach; a point therefore finds its candidates by
// one look-up of its block and one contiguous read, and never looks at empty cells. A block's lists
// and the Gaussians they name lie in one piece of memory, a chunk, with no reference to other
// blocks. A Gaussian on a block's border is repeated in the chunks of its neighbours; that is what
// lets snapshots share the chunks of blocks that did not change.
//
// A chunk, 16-byte aligned:
//   uint32_t   list_begin[kBlockCells + 1]    the list of place p is [list_begin[p],
//   list_begin[p+1]) uint32_t   padding[3] Candidate  candidates[list_begin[kBlockCells]] Gaussian
//   gaussians[...]                 each once, in the order of their halo cell
//
// Blocks are found through an open-addressing hash table in device memory, at most a quarter full.

#ifndef VOXLOC_CUDA_MAP_CELL_BLOCKS_H_
#define VOXLOC_CUDA_MAP_CELL_BLOCKS_H_

#include <cstddef>
#include <cstdint>

#include "core/map/lattice.h"
#include "core/ndt/host_device.h"

namespace voxloc::cuda {

// One entry of a list. The position is that at which the neighbour search finds the Gaussian
// (MapCell::index), relative to the low corner of the lattice cell whose list this is, metres:
// float32 of the offset from the corner of the Gaussian's own index cell, plus, in float32, the
// distance between the two corners.
struct alignas(16) Candidate {
  float index_x;
  float index_y;
  float index_z;
  // Bits 0 to 26: byte offset from the chunk's start, divided by 16, of the Gaussian. Bits 27 to
  // 31: where its index cell lies from here, (dx + 1) + 3 (dy + 1) + 9 (dz + 1).
  uint32_t reference;
};
constexpr int kReferenceBits = 27;
constexpr uint32_t kReferenceMask = (1U << kReferenceBits) - 1;
// Chunks are smaller than this, which the reference must address.
constexpr size_t kMaxChunkBytes = size_t{16} << kReferenceBits;

// What a matched pair needs. The mean is relative to the low corner of the lattice cell of the
// index position, metres; the information matrix in 1/m^2.
struct alignas(16) Gaussian {
  float xx;
  float xy;
  float xz;
  float yy;
  float yz;
  float zz;
  float mean_x;
  float mean_y;
  float mean_z;
  float padding[3];
};
static_assert(sizeof(Candidate) == 16 && sizeof(Gaussian) == 48, "read as 16-byte vectors");

constexpr size_t kListBeginBytes = (kBlockCells + 4) * sizeof(uint32_t);
static_assert(kListBeginBytes % 16 == 0, "candidates follow, aligned");

constexpr size_t ChunkBytes(size_t candidates, size_t gaussians) {
  return kListBeginBytes + candidates * sizeof(Candidate) + gaussians * sizeof(Gaussian);
}

// One slot of the hash table. A slot whose chunk is null but whose key is used is a block that has
// become empty.
struct alignas(16) BlockSlot {
  uint64_t key;
  const std::byte* chunk;  // device memory
};
constexpr uint64_t kNoBlock = ~uint64_t{0};

// Block coordinates of cells within +-2^27 have 25 bits, of which a map may span 21 on every axis:
// keys are relative to a corner of the map.
constexpr int kBlockKeyBits = 21;
constexpr int32_t kMaxBlocksAlongAxis = int32_t{1} << kBlockKeyBits;

// The cells of one statistics of a map, as kernels get them, by value.
struct CellBlocks {
  const BlockSlot* slots;  // null for a layer without a cell
  uint32_t slot_mask;      // number of slots, a power of two, minus one
  // Block that the keys count from, and the number of blocks along each axis from there.
  int32_t first_x;
  int32_t first_y;
  int32_t first_z;
  int32_t size_x;
  int32_t size_y;
  int32_t size_z;
  double cell_size_m;
};

VOXLOC_HD uint64_t PackBlockKey(uint32_t x, uint32_t y, uint32_t z) {
  return static_cast<uint64_t>(z) << (2 * kBlockKeyBits) |
         static_cast<uint64_t>(y) << kBlockKeyBits | x;
}

// Where a block's slot is looked for first, before the mask; then the next ones, in order. Blocks
// near each other differ in low bits, which odd factors keep apart.
VOXLOC_HD uint32_t HashBlock(uint32_t x, uint32_t y, uint32_t z) {
  return (x * 73856093U) ^ (y * 19349663U) ^ (z * 83492791U);
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CELL_BLOCKS_H_
