// SPDX-License-Identifier: Apache-2.0
//
// How the cells of a map lie in device memory, for the kernels that match points against them.
//
// Cells are grouped by blocks of 8x8x8 lattice cells. Every lattice cell of a block has the list of
// all Gaussians that can match a point in it: a point finds its candidates by one lookup of its
// block and one contiguous read, and never visits empty cells. Most candidates are too far away, so
// a list entry holds only what decides nearly all of them in half precision. The terms of a pair
// need the Gaussian's record, one sector of memory; data for the few undecided candidates is in a
// side array. The lists and records of a block form one piece of memory, a chunk, without
// references to other blocks: Gaussians near a border are repeated in the chunks of the neighbours.
// So snapshots can share the chunks of blocks that did not change.
//
// A chunk starts at a sector of 32 bytes and is a whole number of them:
//   uint32_t    list_begin[kBlockCells + 1]  the list of place p is [list_begin[p],
//                                            list_begin[p + 1]), in sectors from the chunk's start
//   uint32_t    padding[7]
//   CellRecord  records[...]                 each once
//   Candidate   candidates[...]              from list_begin[0] to list_begin[kBlockCells]
//   CellPlace   places[...]                  of the records in their order, each with its CellMean
//                                            behind it where the layer's means are not the index
//                                            positions
//   uint32_t    padding[0 or 4]
//
// Blocks are found through an open-addressing hash table in device memory, at most a quarter full.

#ifndef VOXLOC_CUDA_MAP_CELL_BLOCKS_H_
#define VOXLOC_CUDA_MAP_CELL_BLOCKS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/map/lattice.h"
#include "core/ndt/host_device.h"

namespace voxloc::cuda {

// The mean of a Gaussian in 64 bits: three fixed-point coordinates of 21 bits relative to the
// coarse place, which is the index position rounded to a grid of 2^-10 of the cell size and is in
// every list. A mean outside the range of the coordinates is only marked as such.
//
// Where the mean is the index position they reach a step of the grid, in steps of 2^-30 of the cell
// size: finer than the float32 that is packed. Where the index positions have a rounding of their
// own, they reach a sixteenth of a cell, in steps of 2^-24, 0.12 um of a cell of 2 m: as fine as
// the float32 in which positions in a cell are computed.

// Bits 0 to 20 hold x, 21 to 41 y, 42 to 62 z. Bit 63: the mean is outside the range.
struct PackedMean {
  uint32_t low;
  uint32_t high;

  [[nodiscard]] VOXLOC_HD bool IsOutside() const { return (high >> 31) != 0; }
};
constexpr int kMeanBits = 21;

// A coordinate of an index position, in units of the cell size from the low corner of its cell, on
// the grid: from 0 to 1 - 2^-10. Shifted by a cell to either side it is a number that half
// precision has exactly.
VOXLOC_HD float CoarsePlace(float index_cells) {
  constexpr float kSteps = 1024.0F;
  return std::fmin(std::fmax(std::floor(index_cells * kSteps + 0.5F), 0.0F), kSteps - 1.0F) /
         kSteps;
}

// From the coarse place to the mean it is span_m * u + origin_m, with u from 1 inclusive to 2
// exclusive: the bits are the first of the fraction of u as a float, so that no conversion is
// needed.
struct MeanRange {
  float span_m;
  float origin_m;
};
VOXLOC_HD MeanRange MeanRangeOf(float cell_size_m, bool mean_is_index) {
  const float span_m = (mean_is_index ? 0x1p-9F : 0x1p-3F) * cell_size_m;
  return {span_m, -1.5F * span_m};
}

// `mean` and `index` in metres from the low corner of the cell.
VOXLOC_HD PackedMean PackMean(const float (&mean)[3], const float (&index)[3], float cell_size_m,
                              const MeanRange& range) {
  constexpr double kSteps = 1U << kMeanBits;
  const double size_m = static_cast<double>(cell_size_m);
  uint64_t bits = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double coarse = static_cast<double>(CoarsePlace(index[axis] / cell_size_m));
    const double offset_m = static_cast<double>(mean[axis]) - coarse * size_m;
    const double span_m = static_cast<double>(range.span_m);
    const double step = std::floor((offset_m / span_m + 0.5) * kSteps + 0.5);
    if (!(step >= 0.0 && step < kSteps)) return {0, uint32_t{1} << 31};
    bits = bits << kMeanBits | static_cast<uint64_t>(step);
  }
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// u of each axis, see MeanRange.
struct MeanFractions {
  float x;
  float y;
  float z;
};
VOXLOC_HD MeanFractions FractionsOf(const PackedMean& mean) {
  constexpr int kFractionBits = 23;  // of a float
  constexpr int kUp = kFractionBits - kMeanBits;
  constexpr uint32_t kMask = ((uint32_t{1} << kMeanBits) - 1) << kUp;
  constexpr uint32_t kOne = 0x3f800000;  // 1.0F
  const uint32_t bits[3] = {
      (mean.low << kUp & kMask) | kOne,
      ((mean.low >> (kMeanBits - kUp) | mean.high << (32 - kMeanBits + kUp)) & kMask) | kOne,
      (mean.high >> (2 * kMeanBits - 32 - kUp) & kMask) | kOne};
  MeanFractions fractions;
  static_assert(sizeof(fractions) == sizeof(bits), "three floats");
  std::memcpy(&fractions, bits, sizeof(bits));
  return fractions;
}

// Unit of memory transactions of the device, and the alignment of chunks.
constexpr size_t kSectorBytes = 32;

// One entry of a list: the position at which the neighbour search finds a Gaussian
// (MapCell::index), in units of the cell size from the low corner of the lattice cell whose list
// this is, as IEEE half precision; and the place of its record among the chunk's. Coordinates are
// on a grid, see CoarsePlace: their floor, -1, 0 or 1, is the lattice cell that the position lies
// in, and the means of records are relative to them. Lists are filled up to a multiple of kListStep
// with entries whose three coordinates are kNowhere.
struct alignas(8) Candidate {
  uint16_t half_x;
  uint16_t half_y;
  uint16_t half_z;
  uint16_t record;
};
constexpr uint32_t kListStep = 4;
static_assert(kListStep * sizeof(Candidate) == kSectorBytes, "lists are counted in sectors");
constexpr uint16_t kNowhere = 0x7c00;  // infinity
constexpr size_t kMaxRecords = 65536;  // of a chunk

// In units of the cell size squared, as IEEE half precision: a candidate whose squared distance,
// computed in half precision, is not below the first is certainly at least one cell size away; one
// whose is below the second is certainly nearer. Between them, for one pair in fifty, the exact
// index position decides.
//
// Along an axis where point and candidate are t apart, the difference of their halves is off by at
// most E = 2^-12 (the point, below 1) + 2^-10 (the candidate, below 2, with its floor kept)
// + 2^-11 |t| (the difference). At a distance of 1 that makes 2 |t| E of each axis, together at
// most 2 sqrt(3) (2^-12 + 2^-10) + 2^-10 < 0.0053, and the roundings of the squares and their sums
// 3 x 2^-11 < 0.0015. All of it grows more slowly than the squared distance, so what is at least 1
// away is never computed below 1 - 0.0068, nor what is nearer above 1 + 0.0068.
constexpr uint16_t kPossibleSquaredHalf = 0x3c08;  // 1 + 2^-7
constexpr uint16_t kCertainSquaredHalf = 0x3bf0;   // 1 - 2^-7

// What the terms of a matched pair need. The information matrix is in 1/m^2; the mean is relative
// to the position that candidates have.
struct alignas(kSectorBytes) CellRecord {
  float xx;
  float xy;
  float xz;
  float yy;
  float yz;
  float zz;
  PackedMean mean;
};
static_assert(sizeof(CellRecord) == kSectorBytes, "a pair reads one sector");

// Metres from the low corner of the lattice cell that it lies in: the index position, exactly as
// the CPU engine has it.
struct alignas(16) CellPlace {
  float x;
  float y;
  float z;
  float padding;
};
// Likewise the mean. Follows the place in layers with CellStatistics::float_index, for means that
// no PackedMean can hold; elsewhere the mean is the index.
using CellMean = CellPlace;
static_assert(sizeof(CellPlace) == 16, "read as 16-byte vectors");

constexpr size_t kListBeginBytes = (kBlockCells + 8) * sizeof(uint32_t);
static_assert(kListBeginBytes % kSectorBytes == 0, "records are sectors");

// Of a record in the array of places.
constexpr size_t PlaceBytes(bool float_index) {
  return float_index ? sizeof(CellPlace) + sizeof(CellMean) : sizeof(CellPlace);
}
// `candidates` with those that fill up the lists.
constexpr size_t ChunkBytes(size_t candidates, size_t records, bool float_index) {
  const size_t bytes = kListBeginBytes + candidates * sizeof(Candidate) +
                       records * (sizeof(CellRecord) + PlaceBytes(float_index));
  return (bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
}

// One slot of the hash table. A used key with a null chunk is a block that has become empty.
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

// The first slot to probe, before the mask; probing is linear. Neighbouring blocks differ in their
// low bits, which the odd factors keep distinct.
VOXLOC_HD uint32_t HashBlock(uint32_t x, uint32_t y, uint32_t z) {
  return (x * 73856093U) ^ (y * 19349663U) ^ (z * 83492791U);
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CELL_BLOCKS_H_
