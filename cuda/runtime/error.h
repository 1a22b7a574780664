// SPDX-License-Identifier: Apache-2.0
//
// Classification of CUDA errors. Stateless: thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_ERROR_H_
#define VOXLOC_CUDA_RUNTIME_ERROR_H_

#include <cuda_runtime_api.h>

#include <string>

namespace voxloc::cuda {

// Whether CUDA documents that the error ends the context ("the process must be terminated and
// relaunched"), or that it is a hardware fault that may have corrupted memory. Every other error
// concerns its call only.
[[nodiscard]] bool EndsContext(cudaError_t error);

// Returns the error of a call, where it is one, from a function that returns such errors.
#define VOXLOC_RETURN_IF_CUDA_ERROR(call)                                     \
  do {                                                                        \
    if (const cudaError_t error = (call); error != cudaSuccess) return error; \
  } while (false)

// The description and the name of the error, for messages.
[[nodiscard]] std::string Describe(cudaError_t error);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_ERROR_H_
