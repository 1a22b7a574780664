// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/empty_kernel.h"

namespace voxloc::bench {
namespace {

__global__ void EmptyKernel() {}

}  // namespace

cudaError_t LaunchEmptyKernel(cudaStream_t stream) {
  EmptyKernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace voxloc::bench
