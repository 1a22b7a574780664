// SPDX-License-Identifier: Apache-2.0
//
// Device code: sums in the order of a tree, wholly unrolled: an array that is indexed by a loop
// would lie in local memory.

#ifndef VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_
#define VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_

namespace voxloc::cuda {

// Lane i gets the sum over all lanes of their values[i], added as a tree of pairs 16, 8, 4, 2 and 1
// lanes apart. Each exchange halves the number of sums that a lane still carries: 31 shuffles in
// all, where 32 separate sums take 160. `values` is used up.
template <int kDistance = 16>
__device__ __forceinline__ float SumOverLanes(float (&values)[32]) {
  const bool upper = (threadIdx.x & static_cast<unsigned>(kDistance)) != 0;
#pragma unroll
  for (int i = 0; i < kDistance; ++i) {
    const float kept = upper ? values[i + kDistance] : values[i];
    const float given = upper ? values[i] : values[i + kDistance];
    values[i] = kept + __shfl_xor_sync(0xffffffffU, given, kDistance);
  }
  if constexpr (kDistance > 1) {
    return SumOverLanes<kDistance / 2>(values);
  } else {
    return values[0];
  }
}

// The sum of kCount values, a power of two, by pairs of neighbours: few additions wait for each
// other.
template <int kCount>
__device__ __forceinline__ double SumByPairs(const double (&values)[kCount]) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    double pairs[kCount / 2];
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) pairs[i] = values[2 * i] + values[2 * i + 1];
    return SumByPairs(pairs);
  }
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_WARP_SUMS_CUH_
