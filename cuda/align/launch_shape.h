// SPDX-License-Identifier: Apache-2.0
//
// How the jobs of a launch are laid out on the device. Plain arithmetic: thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_
#define VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_

#include <algorithm>
#include <cstddef>

#include "absl/functional/function_ref.h"

namespace voxloc::cuda {

// The order in which a scan's points are summed, independent of the number of blocks and threads.
//
// Points are taken in chunks of 32, a warp each, and a chunk is summed by a fixed tree over its
// lanes, in float32. Chunk c belongs to row c mod 16 and in it to column (c / 16) mod 16. The
// chunks of a row and column are added one after another, then the columns of a row, then the rows,
// in double. A cluster or group of 16 blocks gives each block a row and its warps columns of it; a
// lone block gives each warp whole rows. All add the same numbers in the same order, so the bits
// are the same.
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

// What a group of blocks exchanges, doubles a job: the columns of two evaluations.
constexpr size_t kGroupColumns = size_t{2} * kVirtualWarps * kSlots;

// An Interrupt is transmitted by adding kInterruptUnit * interrupt to the sum of the matched
// points, which is far smaller.
constexpr double kInterruptUnit = 1099511627776.0;  // 2^40

// How much of the device a launch may use: all of it; a part, beside other launches of the same
// call; or, for work other than tracking, so little that tracking can run beside it.
enum class DeviceUse { kWhole, kPart, kBackground };

// What the kernel is compiled for.
enum class BlockSize {
  kSmall,  // lone blocks of 4 warps, six on a multiprocessor
  kLone,   // lone blocks with a warp for each row, two on a multiprocessor
  kShort,  // blocks of a cluster with up to kShortColumns columns, two on a multiprocessor
  kLong,   // with more
  kWide,   // the same, on a multiprocessor of its own
  kGroup,  // blocks that exchange sums through global memory (group_exchange.cuh), two likewise
};
constexpr size_t kBlockSizes = 6;
constexpr size_t kShortColumns = 8;

// How the blocks of one job exchange their sums: in a thread-block cluster, or, on devices without
// these, through global memory.
enum class Exchange { kCluster, kGroup };

struct LaunchShape {
  int cluster = 1;  // blocks that work on one job, in a cluster or a group
  BlockSize blocks = BlockSize::kSmall;
};

struct LaunchDemand {
  size_t jobs = 0;
  size_t max_chunks = 0;  // of the longest scan
};

// The largest power of two <= `most` (itself a power of two) for which usable() is true; 1, which
// is not tested, if there is none.
[[nodiscard]] inline int MaxUsableCluster(int most, absl::FunctionRef<bool(int)> usable) {
  int cluster = most;
  while (cluster > 1 && !usable(cluster)) cluster /= 2;
  return cluster;
}

// The largest power of two <= `largest` (itself a power of two) with which every block has a chunk
// and the launch has at most `max_blocks` blocks.
[[nodiscard]] inline int ChooseCluster(int largest, size_t max_blocks, const LaunchDemand& demand) {
  int cluster = largest;
  while (cluster > 1 && (demand.jobs * static_cast<size_t>(cluster) > max_blocks ||
                         static_cast<size_t>(cluster) > demand.max_chunks)) {
    cluster /= 2;
  }
  return cluster;
}

// With clusters, at most two blocks per multiprocessor, one in the background. Jobs that fill the
// device without clusters have small blocks. Blocks that need a whole multiprocessor are used only
// for so few jobs that all clusters are resident at once: a cluster lies within one part of the
// device (GPC).
[[nodiscard]] inline LaunchShape ChooseShape(int max_cluster, Exchange exchange,
                                             size_t multiprocessors, const LaunchDemand& demand,
                                             DeviceUse use) {
  if (use == DeviceUse::kPart) return {1, BlockSize::kSmall};
  const size_t max_blocks = (use == DeviceUse::kBackground ? 1 : 2) * multiprocessors;
  const int cluster = ChooseCluster(max_cluster, max_blocks, demand);
  const size_t blocks = demand.jobs * static_cast<size_t>(cluster);
  if (cluster == 1) return {1, blocks <= max_blocks ? BlockSize::kLone : BlockSize::kSmall};
  if (exchange == Exchange::kGroup) return {cluster, BlockSize::kGroup};
  const size_t columns = std::min<size_t>((demand.max_chunks + kRows - 1) / kRows, kColumns);
  if (kRows / static_cast<size_t>(cluster) * columns <= kShortColumns) {
    return {cluster, BlockSize::kShort};
  }
  return {cluster, 4 * blocks <= multiprocessors ? BlockSize::kWide : BlockSize::kLong};
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_
