// SPDX-License-Identifier: Apache-2.0
//
// Device code: the sums of a whole scan, in every block of a cluster, from the rows that each block
// has. Every block owns some slots: it gets them of all rows, adds them up, and sends the sums to
// all. With 16 blocks that is 16 and 32 stores of a block; sending every row to every block is 512,
// and a little slower although it is one round.

#ifndef VOXLOC_CUDA_ALIGN_ROW_EXCHANGE_CUH_
#define VOXLOC_CUDA_ALIGN_ROW_EXCHANGE_CUH_

#include <cstdint>

#include "cuda/align/cluster.cuh"
#include "cuda/align/virtual_warps.h"
#include "cuda/align/warp_sums.cuh"

namespace voxloc::cuda {

// Which slots a block of a cluster owns. Both numbers of blocks and slots are powers of two.
struct SlotShare {
  uint32_t rank;  // of the block
  uint32_t size;  // slots of each block
  uint32_t bits;  // its logarithm
};
__device__ __forceinline__ SlotShare ShareOf(uint32_t rank, uint32_t cluster) {
  const uint32_t size = kSlots / cluster;
  return {rank, size, static_cast<uint32_t>(__ffs(static_cast<int>(size)) - 1)};
}

// In shared memory. Neither part needs a second copy for the next evaluation: a block sends its
// rows of that one after it has all sums of this one, which other blocks send after they have read
// the rows; and sums of the next one come after all blocks have sent their rows.
struct RowExchange {
  ArrivalBarrier rows_arrived;
  ArrivalBarrier sums_arrived;
  double sums[kSlots];
  // Of the slots that this block owns, [kRows][slots]; at most half of them, of a cluster of two.
  // Two slots arrive at a time.
  alignas(16) double rows[kRows * kSlots / 2];
};

// By one thread, before the cluster is synchronised.
__device__ __forceinline__ void Initialize(RowExchange& exchange) {
  Initialize(exchange.rows_arrived);
  Initialize(exchange.sums_arrived);
}

// By one thread, once for every evaluation.
__device__ __forceinline__ void Expect(RowExchange& exchange, const SlotShare& share) {
  Expect(exchange.rows_arrived, static_cast<uint32_t>(sizeof(double)) * kRows * share.size);
  Expect(exchange.sums_arrived, sizeof(exchange.sums));
}

// Sends two neighbouring slots of a row to the block that owns them; `slot` is the even one.
__device__ __forceinline__ void SendToOwner(RowExchange& exchange, const SlotShare& share,
                                            uint32_t row, uint32_t slot, double2 values) {
  Send(exchange.rows + row * share.size + (slot & (share.size - 1)), exchange.rows_arrived,
       slot >> share.bits, values);
}

// Called by one warp. Adds up the slots that the block owns, and returns the lane's slot of the
// sums of the whole scan. `parity` is that of the evaluation.
__device__ __forceinline__ double ExchangeSums(RowExchange& exchange, const SlotShare& share,
                                               uint32_t parity, uint32_t lane) {
  const uint32_t slot =
      lane & (share.size - 1);  // there are as many slots and blocks to send to as lanes
  Wait(exchange.rows_arrived, parity);
  double row[kRows];
#pragma unroll
  for (uint32_t i = 0; i < kRows; ++i) row[i] = exchange.rows[i * share.size + slot];
  const double sum = SumByPairs(row);
  __syncwarp();
  Send(exchange.sums + share.rank * share.size + slot, exchange.sums_arrived, lane >> share.bits,
       sum);
  Wait(exchange.sums_arrived, parity);
  return exchange.sums[lane];
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_ROW_EXCHANGE_CUH_
