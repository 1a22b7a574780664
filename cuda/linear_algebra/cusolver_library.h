// SPDX-License-Identifier: Apache-2.0
//
// cuSOLVER, loaded when it is first asked for. The library and what it needs weigh about a
// gigabyte, so the program does not link it and is not packed with it.
//
// Thread-safe. Once loaded it stays until the program ends.

#ifndef VOXLOC_CUDA_LINEAR_ALGEBRA_CUSOLVER_LIBRARY_H_
#define VOXLOC_CUDA_LINEAR_ALGEBRA_CUSOLVER_LIBRARY_H_

#include <cusolverDn.h>

#include <string>

#include "absl/status/statusor.h"

namespace voxloc::cuda {

// The functions that are used, of the types that the toolkit's header gives them.
struct CusolverLibrary {
  decltype(&cusolverDnCreate) create = nullptr;
  decltype(&cusolverDnDestroy) destroy = nullptr;
  decltype(&cusolverDnSetStream) set_stream = nullptr;
  decltype(&cusolverDnCreateParams) create_params = nullptr;
  decltype(&cusolverDnDestroyParams) destroy_params = nullptr;
  decltype(&cusolverDnXsyevBatched_bufferSize) xsyev_batched_buffer_size = nullptr;
  decltype(&cusolverDnXsyevBatched) xsyev_batched = nullptr;
};

// The file's name: that of the major version whose header this build was compiled with.
[[nodiscard]] std::string CusolverFileName();

// Looks where the system's loader looks, then in /usr/local/cuda. FailedPrecondition names the
// library, what is wrong with it, and what would help.
[[nodiscard]] absl::StatusOr<const CusolverLibrary*> LoadCusolver();

// What LoadCusolver does, with a library of another name, and each time anew.
[[nodiscard]] absl::StatusOr<CusolverLibrary> LoadCusolverFrom(const std::string& file_name);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_LINEAR_ALGEBRA_CUSOLVER_LIBRARY_H_
