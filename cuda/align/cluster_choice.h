// SPDX-License-Identifier: Apache-2.0
//
// How many blocks work on one job. Plain arithmetic: thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_CLUSTER_CHOICE_H_
#define VOXLOC_CUDA_ALIGN_CLUSTER_CHOICE_H_

#include <cstddef>

#include "absl/functional/function_ref.h"

namespace voxloc::cuda {

// The largest power of two up to `most`, which is one, that `usable` says yes to; 1, which is not
// asked about, where there is none.
[[nodiscard]] inline int LargestUsableCluster(int most, absl::FunctionRef<bool(int)> usable) {
  int cluster = most;
  while (cluster > 1 && !usable(cluster)) cluster /= 2;
  return cluster;
}

struct ClusterDemand {
  size_t jobs = 0;
  size_t most_chunks = 0;  // of the longest scan
};

// The largest power of two up to `largest`, which is one, that leaves no block without a chunk and
// gives a multiprocessor two blocks at most.
[[nodiscard]] inline int ChooseCluster(int largest, size_t multiprocessors,
                                       const ClusterDemand& demand) {
  constexpr size_t kBlocksPerMultiprocessor = 2;
  int cluster = largest;
  while (cluster > 1 &&
         (demand.jobs * static_cast<size_t>(cluster) > kBlocksPerMultiprocessor * multiprocessors ||
          static_cast<size_t>(cluster) > demand.most_chunks)) {
    cluster /= 2;
  }
  return cluster;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_CLUSTER_CHOICE_H_
