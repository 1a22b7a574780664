// SPDX-License-Identifier: Apache-2.0
//
// The order in which a scan's points are summed, independent of the number of blocks and threads.
//
// Points are taken in chunks of 32, a warp each, and a chunk is summed by a fixed tree over its
// lanes, in float32. Chunk c belongs to row c mod 16 and in it to column (c / 16) mod 16. The
// chunks of a row and column are added one after another, then the columns of a row, then the rows,
// in double. A cluster of 16 blocks gives each block a row and its warps columns of it; a lone
// block gives each warp whole rows. Both add the same numbers in the same order, so the bits are
// the same.

#ifndef VOXLOC_CUDA_ALIGN_VIRTUAL_WARPS_H_
#define VOXLOC_CUDA_ALIGN_VIRTUAL_WARPS_H_

namespace voxloc::cuda {

constexpr int kPointsPerChunk = 32;
constexpr int kRows = 16;
constexpr int kColumns = 16;
constexpr int kVirtualWarps = kRows * kColumns;

// Sums of a scan, in the order in which the lanes of a warp hold them.
constexpr int kSlots = 32;
enum Slot {
  kExponentials = 0,
  kBest = 1,
  kMatched = 2,
  kPairs = 3,
  kGradient = 4,  // 6, in the map's axes
  kHessian = 10,  // 21
  kOldPitch = 31  // see ndt::DerivativeSums
};

// An Interrupt is transmitted by adding kInterruptUnit * interrupt to the sum of the matched
// points, which is far smaller.
constexpr double kInterruptUnit = 1099511627776.0;  // 2^40

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_VIRTUAL_WARPS_H_
