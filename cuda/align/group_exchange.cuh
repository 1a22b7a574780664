// SPDX-License-Identifier: Apache-2.0
//
// Device code: the sums of an evaluation over a group of blocks, through global memory: for devices
// without thread-block clusters (compute capability below 9.0). All blocks of a group must be
// resident at once. Every block reads all columns and adds them in the order of a lone block, so
// the bits are the same (launch_shape.h).
//
// One wait an evaluation: a warp writes its columns and then counts them; a block goes on when all
// columns are counted. Evaluations alternate between two buffers. A block writes a buffer again two
// evaluations later, after the count of the one between, which no block completes before it has
// read this one.

#ifndef VOXLOC_CUDA_ALIGN_GROUP_EXCHANGE_CUH_
#define VOXLOC_CUDA_ALIGN_GROUP_EXCHANGE_CUH_

#include <cstddef>
#include <cstdint>

#include "cuda/align/launch_shape.h"
#include "cuda/align/sum_exchange.cuh"

namespace voxloc::cuda {

// Of one job. In global memory.
struct GroupExchange {
  double* columns;    // kGroupColumns: [2][kColumns][kRows][kSlots]
  uint32_t* counted;  // columns of all evaluations so far; 0 at the launch
};

// By all lanes of a warp: writes a column's sums, each lane its slot.
__device__ __forceinline__ void WriteColumn(const GroupExchange& exchange, uint32_t parity,
                                            uint32_t row, uint32_t column, uint32_t lane,
                                            double sum) {
  __stcg(exchange.columns + ((parity * kColumns + column) * kRows + row) * kSlots + lane, sum);
}

// By all lanes of a warp, after it has written `columns`.
__device__ __forceinline__ void CountColumns(const GroupExchange& exchange, uint32_t columns,
                                             uint32_t lane) {
  if (columns == 0) return;
  __threadfence();
  __syncwarp();
  if (lane == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(exchange.counted), "r"(columns)
                 : "memory");
  }
}

// Waits until so many columns are counted; what was written before is then seen by the warp.
__device__ __forceinline__ void AwaitColumns(const GroupExchange& exchange, uint32_t columns,
                                             uint32_t lane) {
  if (lane == 0) {
    uint32_t counted = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(counted)
                   : "l"(exchange.counted)
                   : "memory");
    } while (counted < columns);
  }
  __syncwarp();
}

// The slot of the lane over all rows: their columns one after another, then rows by pairs of
// neighbours.
__device__ __forceinline__ double SumColumns(const GroupExchange& exchange, uint32_t parity,
                                             uint32_t columns, uint32_t lane) {
  const double* const first = exchange.columns + parity * (kVirtualWarps * kSlots) + lane;
  double row[kRows] = {};
  for (uint32_t column = 0; column < columns; ++column) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      row[i] += __ldcg(first + (column * kRows + i) * kSlots);
    }
  }
  return SumByPairs(row);
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_GROUP_EXCHANGE_CUH_
