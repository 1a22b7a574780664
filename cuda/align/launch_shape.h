// SPDX-License-Identifier: Apache-2.0
//
// How the jobs of a launch are laid out on the device. Plain arithmetic: thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_
#define VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_

#include <algorithm>
#include <cstddef>

#include "absl/functional/function_ref.h"
#include "cuda/align/virtual_warps.h"

namespace voxloc::cuda {

// What a launch may take of the device. All of it; what others leave beside other launches of the
// same call; or, for what is not tracking, so little that tracking finds room.
enum class DeviceUse { kWhole, kPart, kBackground };

// What the kernel is compiled for.
enum class BlockSize {
  kSmall,  // lone blocks of 4 warps, six on a multiprocessor
  kLone,   // lone blocks with a warp for each row, two on a multiprocessor
  kShort,  // blocks of a cluster with up to kShortColumns columns, two on a multiprocessor
  kLong,   // with more
  kWide,   // the same, on a multiprocessor of its own
};
constexpr size_t kBlockSizes = 5;
constexpr size_t kShortColumns = 8;

struct LaunchShape {
  int cluster = 1;  // blocks that work on one job
  BlockSize blocks = BlockSize::kSmall;
};

struct LaunchDemand {
  size_t jobs = 0;
  size_t most_chunks = 0;  // of the longest scan
};

// The largest power of two up to `most`, which is one, that `usable` says yes to; 1, which is not
// asked about, where there is none.
[[nodiscard]] inline int LargestUsableCluster(int most, absl::FunctionRef<bool(int)> usable) {
  int cluster = most;
  while (cluster > 1 && !usable(cluster)) cluster /= 2;
  return cluster;
}

// The largest power of two up to `largest`, which is one, that leaves no block without a chunk and
// makes at most so many blocks.
[[nodiscard]] inline int ChooseCluster(int largest, size_t most_blocks,
                                       const LaunchDemand& demand) {
  int cluster = largest;
  while (cluster > 1 && (demand.jobs * static_cast<size_t>(cluster) > most_blocks ||
                         static_cast<size_t>(cluster) > demand.most_chunks)) {
    cluster /= 2;
  }
  return cluster;
}

// Clusters give a multiprocessor two blocks at most, and one in the background. Jobs that fill the
// device without clusters have small blocks. Blocks that take a whole multiprocessor are for so few
// jobs that their clusters find room at the same time: the blocks of one are of one part of the
// device.
[[nodiscard]] inline LaunchShape ChooseShape(int largest_cluster, size_t multiprocessors,
                                             const LaunchDemand& demand, DeviceUse use) {
  if (use == DeviceUse::kPart) return {1, BlockSize::kSmall};
  const size_t most_blocks = (use == DeviceUse::kBackground ? 1 : 2) * multiprocessors;
  const int cluster = ChooseCluster(largest_cluster, most_blocks, demand);
  const size_t blocks = demand.jobs * static_cast<size_t>(cluster);
  if (cluster == 1) return {1, blocks <= most_blocks ? BlockSize::kLone : BlockSize::kSmall};
  const size_t columns = std::min<size_t>((demand.most_chunks + kRows - 1) / kRows, kColumns);
  if (kRows / static_cast<size_t>(cluster) * columns <= kShortColumns) {
    return {cluster, BlockSize::kShort};
  }
  return {cluster, 4 * blocks <= multiprocessors ? BlockSize::kWide : BlockSize::kLong};
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_LAUNCH_SHAPE_H_
