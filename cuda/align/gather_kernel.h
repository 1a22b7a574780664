// SPDX-License-Identifier: Apache-2.0
//
// Brings floats that lie in many places of page-locked host memory into one array on the device, by
// one launch: the device reads them over the bus, and the host copies nothing.

#ifndef VOXLOC_CUDA_ALIGN_GATHER_KERNEL_H_
#define VOXLOC_CUDA_ALIGN_GATHER_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

struct GatherPiece {
  const float* from;  // page-locked, aligned to 16 bytes
  uint64_t to;        // a place in the array, a multiple of 4
  uint64_t floats;    // a multiple of 4
};

// `pieces`: `count` of them, on the device. One launch.
[[nodiscard]] absl::Status LaunchGather(Device& device, const GatherPiece* pieces, size_t count,
                                        float* array, cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_GATHER_KERNEL_H_
