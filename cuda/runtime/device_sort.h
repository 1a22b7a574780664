// SPDX-License-Identifier: Apache-2.0
//
// Sorts, selections and sums by CUB, which is slow to compile, in one translation unit. They queue
// work on `stream` and return; the arrays, all in device memory, must stay valid until it is done.
// Stateless: thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_DEVICE_SORT_H_
#define VOXLOC_CUDA_RUNTIME_DEVICE_SORT_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace voxloc::cuda {

// Double buffers of a radix sort; input and result are in the first.
template <typename Key>
struct SortBuffers {
  Key* keys[2];
  uint32_t* values[2];
};

struct Scratch {
  void* memory;
  size_t bytes;
};

// Scratch memory that suffices for each function below with `count` entries.
cudaError_t ScratchBytes(uint32_t count, size_t* bytes);

// Bits of a key that hold every number from 0 to `largest`.
[[nodiscard]] constexpr int BitsFor(uint64_t largest) {
  int bits = 0;
  for (; largest != 0; largest >>= 1) ++bits;
  return bits;
}

// Stable, ascending by the keys' `bits` low bits, of which there is at least one. Swaps the
// pointers so that the result is in the first buffers. Keys are uint32_t or uint64_t.
template <typename Key>
cudaError_t SortByKey(const Scratch& scratch, SortBuffers<Key>& buffers, uint32_t count, int bits,
                      cudaStream_t stream);

// The ascending indices of the entries with a nonzero mark, and their number.
cudaError_t SelectMarked(const Scratch& scratch, const uint8_t* marks, uint32_t count,
                         uint32_t* selected, uint32_t* selected_count, cudaStream_t stream);

// Replaces each number by the sum of those before it.
cudaError_t ExclusiveSum(const Scratch& scratch, uint32_t* numbers, uint32_t count,
                         cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_DEVICE_SORT_H_
