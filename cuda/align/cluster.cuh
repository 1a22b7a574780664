// SPDX-License-Identifier: Apache-2.0
//
// Device code: thread-block clusters, which devices of compute capability 9.0 and more have. On
// others, and in a launch without them, every block is a cluster of its own.

#ifndef VOXLOC_CUDA_ALIGN_CLUSTER_CUH_
#define VOXLOC_CUDA_ALIGN_CLUSTER_CUH_

#include <cooperative_groups.h>

#include <cstdint>
#include <cuda/ptx>

namespace voxloc::cuda {

__device__ __forceinline__ uint32_t ClusterSize() {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().num_blocks();
#else
  return 1;
#endif
}

__device__ __forceinline__ uint32_t ClusterRank() {
#if __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().block_rank();
#else
  return 0;
#endif
}

// Waits for all threads of the cluster; what they wrote to each other's shared memory is then seen.
__device__ __forceinline__ void SynchronizeCluster() {
#if __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().sync();
#endif
}

// A transaction barrier (mbarrier) in shared memory that counts the bytes that other blocks of the
// cluster write to this one. Unlike a barrier of the cluster, waiting for it does not invalidate
// the multiprocessor's cache of global memory.
struct ArrivalBarrier {
  uint64_t state;
};

// By one thread; the cluster must be synchronised before the barrier is used.
__device__ __forceinline__ void Initialize([[maybe_unused]] ArrivalBarrier& barrier) {
#if __CUDA_ARCH__ >= 900
  namespace ptx = ::cuda::ptx;
  ptx::mbarrier_init(&barrier.state, 1);
  ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
}

// By one thread, once for every phase: how many bytes complete it.
__device__ __forceinline__ void Expect([[maybe_unused]] ArrivalBarrier& barrier,
                                       [[maybe_unused]] uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  namespace ptx = ::cuda::ptx;
  (void)ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                       &barrier.state, bytes);
#endif
}

// The address of the same variable in block `rank`. The kernel has no registers to spare for the
// generic addresses that cuda::ptx and cooperative groups take.
__device__ __forceinline__ uint32_t AddressIn([[maybe_unused]] const void* mine,
                                              [[maybe_unused]] uint32_t rank) {
  uint32_t address = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(mine))), "r"(rank));
#endif
  return address;
}

// Writes to the variable of `mine` in block `rank`, and counts it at that block's barrier.
__device__ __forceinline__ void Send(const double* mine, const ArrivalBarrier& barrier,
                                     uint32_t rank, double value) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
          AddressIn(mine, rank)),
      "l"(__double_as_longlong(value)), "r"(AddressIn(&barrier, rank))
      : "memory");
#endif
}

// Waits until the phase of this parity is complete; what other blocks of the cluster sent is then
// seen. The acquire is at the scope of the block, though the senders are of others. A wider scope
// has two effects: it orders what is read afterwards behind the wait, as the narrow one does, and
// it drops copies of memory that others may have changed. Of what was sent there is no other copy.
// It lies in this block's own shared memory, which has no cache before it; the barrier counts bytes
// that are there (the completion of st.async is a release at the cluster's scope); and whoever
// waits reads nothing else that other blocks write. CUTLASS waits for what other blocks multicast
// in the same way. The cluster's scope may drop this multiprocessor's cache of global memory, which
// holds the map, in every evaluation.
__device__ __forceinline__ void Wait([[maybe_unused]] ArrivalBarrier& barrier,
                                     [[maybe_unused]] uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  while (!::cuda::ptx::mbarrier_try_wait_parity(&barrier.state, parity)) {
  }
#endif
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_CLUSTER_CUH_
