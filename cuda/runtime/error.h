// SPDX-License-Identifier: Apache-2.0
//
// What an error of CUDA says about the context. Functions without state: thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_ERROR_H_
#define VOXLOC_CUDA_RUNTIME_ERROR_H_

#include <cuda_runtime_api.h>

#include <string>

namespace voxloc::cuda {

// Whether CUDA documents the error as the end of the context ("the process must be terminated and
// relaunched"), or as a fault of the hardware that leaves memory in doubt. Every other error is one
// of the call that returned it.
[[nodiscard]] bool EndsContext(cudaError_t error);

// Returns the error of a call, where it is one, from a function that returns such errors.
#define VOXLOC_RETURN_IF_CUDA_ERROR(call)                                     \
  do {                                                                        \
    if (const cudaError_t error = (call); error != cudaSuccess) return error; \
  } while (false)

// For people: the description and the name.
[[nodiscard]] std::string Describe(cudaError_t error);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_ERROR_H_
