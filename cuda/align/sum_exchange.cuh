// SPDX-License-Identifier: Apache-2.0
//
// Device code: an all-reduce over the blocks of a cluster in a fixed order. Every block owns some
// slots: the warps of all blocks send it these slots of each column as soon as they have them, and
// it adds them in order and sends the sums to all blocks.

#ifndef VOXLOC_CUDA_ALIGN_SUM_EXCHANGE_CUH_
#define VOXLOC_CUDA_ALIGN_SUM_EXCHANGE_CUH_

#include <cstddef>
#include <cstdint>

#include "cuda/align/cluster.cuh"
#include "cuda/align/launch_shape.h"

namespace voxloc::cuda {

// Device code: sums in the order of a tree, wholly unrolled: an array that is indexed by a loop
// would lie in local memory.

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

// Which slots a block of a cluster owns. Both numbers of blocks and slots are powers of two.
struct OwnedSlots {
  uint32_t rank;  // of the block
  uint32_t size;  // slots of each block, 2 to 16
  uint32_t bits;  // its logarithm
};
__device__ __forceinline__ OwnedSlots OwnedSlotsOf(uint32_t rank, uint32_t cluster) {
  const uint32_t size = kSlots / cluster;
  return {rank, size, static_cast<uint32_t>(__ffs(static_cast<int>(size)) - 1)};
}

// In shared memory, with the columns of the block's slots behind it, [kColumns][kRows][slots]. No
// part needs double buffering: a warp sends columns of the next evaluation after its block has all
// sums of this one, which other blocks send after they have read their columns; and the sums of the
// next evaluation are sent after all of its columns.
struct SumExchange {
  ArrivalBarrier columns_arrived;
  ArrivalBarrier sums_arrived;
  double sums[kSlots];

  __device__ __forceinline__ double* columns() { return reinterpret_cast<double*>(this + 1); }
};

constexpr size_t SumExchangeBytes(int cluster) {
  return sizeof(SumExchange) +
         sizeof(double) * kVirtualWarps * static_cast<size_t>(kSlots / cluster);
}

// By one thread, before the cluster is synchronised.
__device__ __forceinline__ void Initialize(SumExchange& exchange) {
  Initialize(exchange.columns_arrived);
  Initialize(exchange.sums_arrived);
}

// By one thread, once for every evaluation.
__device__ __forceinline__ void Expect(SumExchange& exchange, const OwnedSlots& owned,
                                       uint32_t columns) {
  Expect(exchange.columns_arrived,
         static_cast<uint32_t>(sizeof(double)) * columns * kRows * owned.size);
  Expect(exchange.sums_arrived, sizeof(exchange.sums));
}

// By all lanes of a warp: sends a column's sums, each lane its slot.
__device__ __forceinline__ void SendColumn(SumExchange& exchange, const OwnedSlots& owned,
                                           uint32_t row, uint32_t column, uint32_t lane,
                                           double sum) {
  const uint32_t slot = lane & (owned.size - 1);
  Send(exchange.columns() + (column * kRows + row) * owned.size + slot, exchange.columns_arrived,
       lane >> owned.bits, sum);
}

// The sum of a slot that the block owns over all rows, in the lanes equal to the slot modulo kSize.
// Rows are added by pairs of neighbours, their columns one after another.
template <uint32_t kSize>
__device__ __forceinline__ double SumOwnSlot(SumExchange& exchange, uint32_t columns,
                                             uint32_t lane) {
  constexpr uint32_t kRowsPerLane = kSize * kRows / 32;
  const uint32_t first_row = lane / kSize * kRowsPerLane;
  double row[kRowsPerLane];
#pragma unroll
  for (uint32_t i = 0; i < kRowsPerLane; ++i) {
    const double* at = exchange.columns() + (first_row + i) * kSize + lane % kSize;
    row[i] = 0.0;
    for (uint32_t column = 0; column < columns; ++column) {
      row[i] += at[column * kRows * kSize];
    }
  }
  double sum = SumByPairs(row);
#pragma unroll
  for (uint32_t distance = kSize; distance < 32; distance *= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  }
  return sum;
}

// Called by one warp: waits for the columns and adds up the slots that the block owns. Returns the
// sum of slot `lane` modulo the number of owned slots.
__device__ __forceinline__ double SumOwnSlots(SumExchange& exchange, const OwnedSlots& owned,
                                              uint32_t columns, uint32_t parity, uint32_t lane) {
  Wait(exchange.columns_arrived, parity);
  switch (owned.size) {
    case 2:
      return SumOwnSlot<2>(exchange, columns, lane);
    case 4:
      return SumOwnSlot<4>(exchange, columns, lane);
    case 8:
      return SumOwnSlot<8>(exchange, columns, lane);
    default:
      return SumOwnSlot<16>(exchange, columns, lane);
  }
}

// Called by the same warp: sends these sums to all blocks, and returns the lane's slot of the sums
// of the whole scan. `parity` is that of the evaluation.
__device__ __forceinline__ double ExchangeSums(SumExchange& exchange, const OwnedSlots& owned,
                                               double sum, uint32_t parity, uint32_t lane) {
  // There are as many slots and blocks to send to as lanes.
  const uint32_t slot = lane & (owned.size - 1);
  Send(exchange.sums + owned.rank * owned.size + slot, exchange.sums_arrived, lane >> owned.bits,
       sum);
  Wait(exchange.sums_arrived, parity);
  return exchange.sums[lane];
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_SUM_EXCHANGE_CUH_
