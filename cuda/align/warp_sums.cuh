// SPDX-License-Identifier: Apache-2.0
//
// Device code: 32 sums over the 32 lanes of a warp at once.

#ifndef VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_
#define VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_

namespace voxloc::cuda {

// Lane i gets the sum over all lanes of their values[i], added as a tree of pairs 16, 8, 4, 2 and 1
// lanes apart. Each exchange halves the number of sums that a lane still carries: 31 shuffles in
// all, where 32 separate sums take 160. `values` is used up.
__device__ __forceinline__ float SumOverLanes(float (&values)[32]) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const bool upper = (lane & static_cast<unsigned>(distance)) != 0;
#pragma unroll
    for (int i = 0; i < distance; ++i) {
      const float kept = upper ? values[i + distance] : values[i];
      const float given = upper ? values[i] : values[i + distance];
      values[i] = kept + __shfl_xor_sync(0xffffffffU, given, distance);
    }
  }
  return values[0];
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_
