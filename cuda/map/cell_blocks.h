// SPDX-License-Identifier: Apache-2.0
//
// How the cells of a map lie in device memory, for the kernels that match points against them.
//
// Cells are grouped by blocks of 8x8x8 lattice cells. For every lattice cell of a block there is
// the list of all Gaussians that a point in it can reach; a point therefore finds its candidates by
// one look-up of its block and one contiguous read, and never looks at empty cells. Most candidates
// turn out too far away, so a list holds little of each: enough to tell in half precision. What is
// exact is in the Gaussian's record. A block's lists and the records they name lie in one piece of
// memory, a chunk, with no reference to other blocks. A Gaussian near a block's border is repeated
// in the chunks of its neighbours; that is what lets snapshots share the chunks of blocks that did
// not change.
//
// A chunk, 16-byte aligned:
//   uint32_t   list_begin[kBlockCells + 1]    the list of place p is [list_begin[p],
//   list_begin[p+1]) uint32_t   padding[3] Candidate  candidates[list_begin[kBlockCells]]
//   CellRecord records[...]                   each once; with its CellMean behind it where the
//   layer's
//                                             means are not the index positions
//
// Blocks are found through an open-addressing hash table in device memory, at most a quarter full.

#ifndef VOXLOC_CUDA_MAP_CELL_BLOCKS_H_
#define VOXLOC_CUDA_MAP_CELL_BLOCKS_H_

#include <cstddef>
#include <cstdint>

#include "core/map/lattice.h"
#include "core/ndt/host_device.h"

namespace voxloc::cuda {

// One entry of a list: the position at which the neighbour search finds a Gaussian
// (MapCell::index), in units of the cell size from the low corner of the lattice cell whose list
// this is, as IEEE half precision; and the place of its record among the chunk's. Lists are filled
// up to a multiple of kListStep with entries whose three coordinates are kNowhere.
struct alignas(8) Candidate {
  uint16_t half_x;
  uint16_t half_y;
  uint16_t half_z;
  uint16_t record;
};
constexpr uint32_t kListStep = 4;
constexpr uint16_t kNowhere = 0x7c00;  // infinity
constexpr size_t kMaxRecords = 65536;  // of a chunk
// In units of the cell size squared: a candidate whose squared distance, computed in half
// precision, is not below this is certainly farther than one cell size away.
constexpr float kReachInHalf = 1.01F;

// What a matched pair needs, in float32. Positions are relative to the low corner of the lattice
// cell that the index position lies in, metres. That cell is given relative to the block, -1 to 8
// on every axis. The information matrix is in 1/m^2.
struct alignas(16) CellRecord {
  float xx;
  float xy;
  float xz;
  float yy;
  float yz;
  float zz;
  float index_x;
  float index_y;
  float index_z;
  float cell_x;
  float cell_y;
  float cell_z;
};
// Follows the record in layers with CellStatistics::float_index; elsewhere the mean is the index.
struct alignas(16) CellMean {
  float x;
  float y;
  float z;
  float padding;
};
static_assert(sizeof(CellRecord) == 48 && sizeof(CellMean) == 16, "read as 16-byte vectors");

constexpr size_t kListBeginBytes = (kBlockCells + 4) * sizeof(uint32_t);
static_assert(kListBeginBytes % 16 == 0 && kListStep * sizeof(Candidate) % 16 == 0,
              "candidates and records are 16-byte aligned");

constexpr size_t RecordBytes(bool float_index) {
  return float_index ? sizeof(CellRecord) + sizeof(CellMean) : sizeof(CellRecord);
}
// `candidates` with those that fill up the lists.
constexpr size_t ChunkBytes(size_t candidates, size_t records, bool float_index) {
  return kListBeginBytes + candidates * sizeof(Candidate) + records * RecordBytes(float_index);
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
