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

// A barrier in shared memory that counts the bytes that other blocks of the cluster write to this
// one. Waiting for it is a matter of this block alone: unlike a barrier of the cluster, it leaves
// what the multiprocessor has cached of global memory where it is.
struct alignas(8) ArrivalBarrier {
  uint64_t state;
};

__device__ __forceinline__ uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// By one thread; the cluster must be synchronised before the barrier is used.
__device__ __forceinline__ void Initialize(ArrivalBarrier& barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(&barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// By one thread, once for every phase: how many bytes complete it.
__device__ __forceinline__ void Expect(ArrivalBarrier& barrier, uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(&barrier)),
      "r"(bytes)
      : "memory");
#endif
}

// Of what lies at the same place in block `rank`.
__device__ __forceinline__ uint32_t AddressIn(const void* mine, uint32_t rank) {
  uint32_t address = 0;
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(SharedAddress(mine)), "r"(rank));
#endif
  return address;
}

// Writes to where `mine` lies, in block `rank`, and counts it at that block's barrier.
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

// The same for two values, which travel as one: the time is that of one. `mine` is 16-byte aligned.
__device__ __forceinline__ void Send(const double* mine, const ArrivalBarrier& barrier,
                                     uint32_t rank, double2 values) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::
          "r"(AddressIn(mine, rank)),
      "l"(__double_as_longlong(values.x)), "l"(__double_as_longlong(values.y)),
      "r"(AddressIn(&barrier, rank))
      : "memory");
#endif
}

// Waits until the phase of this parity is complete; what other blocks of the cluster sent is then
// seen: it was written to this block's own shared memory, and its bytes were counted after it. The
// acquire is the block's. That of the cluster may drop this multiprocessor's cache of global memory
// in every evaluation.
__device__ __forceinline__ void Wait(ArrivalBarrier& barrier, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}\n"
        : "=r"(done)
        : "r"(SharedAddress(&barrier)), "r"(parity)
        : "memory");
  }
#endif
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_CLUSTER_CUH_
