// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/align_kernel.h"

namespace voxloc::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    GatherKernel(const GatherPiece* __restrict__ pieces, float* __restrict__ array) {
  const GatherPiece piece = pieces[blockIdx.x];
  const auto* const from = reinterpret_cast<const float4*>(piece.from);
  auto* const to = reinterpret_cast<float4*>(array + piece.to);
  for (uint64_t i = threadIdx.x; i < piece.floats / 4; i += kThreads) to[i] = from[i];
}

}  // namespace

absl::Status LaunchGather(Device& device, const GatherPiece* pieces, size_t count, float* array,
                          cudaStream_t stream) {
  GatherKernel<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(pieces, array);
  return device.Check(cudaGetLastError(), "launching the gathering of scans");
}

}  // namespace voxloc::cuda
