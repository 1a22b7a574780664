// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include "cuda/runtime/clock.cuh"
#include "cuda/runtime/clock_kernel.h"

namespace voxloc::cuda {
namespace {

__global__ void ReadClockKernel(uint64_t* now) { *now = NowNs(); }

}  // namespace

absl::Status LaunchReadClock(Device& device, uint64_t* now, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  return device.Check(cudaLaunchKernelEx(&config, ReadClockKernel, now), "reading the clock");
}

}  // namespace voxloc::cuda
