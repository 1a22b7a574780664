// SPDX-License-Identifier: Apache-2.0
//
// The kernel that reads the device's clock, from host code. It only queues work on the stream.

#ifndef VOXLOC_CUDA_RUNTIME_CLOCK_KERNEL_H_
#define VOXLOC_CUDA_RUNTIME_CLOCK_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// Writes %globaltimer, nanoseconds, to where the device sees `now`.
[[nodiscard]] absl::Status LaunchReadClock(Device& device, uint64_t* now, cudaStream_t stream);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_CLOCK_KERNEL_H_
