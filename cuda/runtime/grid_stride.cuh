// SPDX-License-Identifier: Apache-2.0
//
// Grid-stride loops.

#ifndef VOXLOC_CUDA_RUNTIME_GRID_STRIDE_CUH_
#define VOXLOC_CUDA_RUNTIME_GRID_STRIDE_CUH_

#include <algorithm>
#include <cstdint>

namespace voxloc::cuda {

constexpr uint32_t kStrideThreads = 256;  // of a block
// Enough to fill any device; threads loop over the rest.
constexpr uint32_t kMaxStrideBlocks = 4096;

// Blocks for an array of so many entries.
inline uint32_t StrideBlocks(uint64_t entries) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(kMaxStrideBlocks, (entries + kStrideThreads - 1) / kStrideThreads));
}

// 64 bits wide, so that a step past the last of 2^31 entries does not come round to the first.
__device__ __forceinline__ uint64_t FirstIndex() {
  return static_cast<uint64_t>(blockIdx.x) * kStrideThreads + threadIdx.x;
}
__device__ __forceinline__ uint64_t Stride() {
  return static_cast<uint64_t>(gridDim.x) * kStrideThreads;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_GRID_STRIDE_CUH_
