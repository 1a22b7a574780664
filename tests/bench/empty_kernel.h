// SPDX-License-Identifier: Apache-2.0
//
// A kernel that does nothing, to measure a launch. Queued on the stream.

#ifndef VOXLOC_TESTS_BENCH_EMPTY_KERNEL_H_
#define VOXLOC_TESTS_BENCH_EMPTY_KERNEL_H_

#include <cuda_runtime_api.h>

namespace voxloc::bench {

[[nodiscard]] cudaError_t LaunchEmptyKernel(cudaStream_t stream);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_EMPTY_KERNEL_H_
