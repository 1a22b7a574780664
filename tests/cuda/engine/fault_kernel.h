// SPDX-License-Identifier: Apache-2.0
//
// A kernel that ends the context of the process, as a fault of the hardware would.

#ifndef VOXLOC_TESTS_CUDA_ENGINE_FAULT_KERNEL_H_
#define VOXLOC_TESTS_CUDA_ENGINE_FAULT_KERNEL_H_

namespace voxloc {

// Launches it on a stream of its own and waits. Whether the launch itself went well.
[[nodiscard]] bool EndCudaContext();

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CUDA_ENGINE_FAULT_KERNEL_H_
