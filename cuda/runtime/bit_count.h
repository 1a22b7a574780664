// SPDX-License-Identifier: Apache-2.0
//
// Sizes of fields in packed keys.

#ifndef VOXLOC_CUDA_RUNTIME_BIT_COUNT_H_
#define VOXLOC_CUDA_RUNTIME_BIT_COUNT_H_

#include <cstdint>

namespace voxloc::cuda {

// Bits that hold every number from 0 to `largest`.
[[nodiscard]] constexpr int BitsFor(uint64_t largest) {
  int bits = 0;
  for (; largest != 0; largest >>= 1) ++bits;
  return bits;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_BIT_COUNT_H_
