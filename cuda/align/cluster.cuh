// SPDX-License-Identifier: Apache-2.0
//
// Device code: thread-block clusters, which devices of compute capability 9.0 and more have. On
// others, and in a launch without them, every block is a cluster of its own.

#ifndef VOXLOC_CUDA_ALIGN_CLUSTER_CUH_
#define VOXLOC_CUDA_ALIGN_CLUSTER_CUH_

#include <cstdint>

namespace voxloc::cuda {

__device__ __forceinline__ uint32_t ClusterSize() {
#if __CUDA_ARCH__ >= 900
  uint32_t size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
#else
  return 1;
#endif
}

__device__ __forceinline__ uint32_t ClusterRank() {
#if __CUDA_ARCH__ >= 900
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

// Waits for all threads of the cluster; what they wrote to each other's shared memory is then seen.
__device__ __forceinline__ void SynchronizeCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Writes to the variable of block `rank` that lies where `mine` does in this block's shared memory.
__device__ __forceinline__ void StoreInCluster(double* mine, uint32_t rank, double value) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(mine));
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(remote), "d"(value) : "memory");
#else
  *mine = value;
#endif
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_CLUSTER_CUH_
