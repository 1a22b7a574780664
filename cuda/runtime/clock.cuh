// SPDX-License-Identifier: Apache-2.0
//
// Device code: the clock that all kernels of a device share.

#ifndef VOXLOC_CUDA_RUNTIME_CLOCK_CUH_
#define VOXLOC_CUDA_RUNTIME_CLOCK_CUH_

#include <cstdint>

namespace voxloc::cuda {

__device__ __forceinline__ uint64_t NowNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_CLOCK_CUH_
