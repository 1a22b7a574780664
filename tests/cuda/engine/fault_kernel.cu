// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include "tests/cuda/engine/fault_kernel.h"

namespace voxloc {
namespace {

__global__ void Trap() { __trap(); }

}  // namespace

bool EndCudaContext() {
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return false;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  const bool launched = cudaLaunchKernelEx(&config, Trap) == cudaSuccess;
  return launched && cudaStreamSynchronize(stream) != cudaSuccess;
}

}  // namespace voxloc
