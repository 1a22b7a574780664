// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/error.h"

#include "absl/strings/str_cat.h"

namespace voxloc::cuda {

bool EndsContext(cudaError_t error) {
  switch (error) {
    // Left in "an inconsistent state": every later call returns the same error.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContained:
    case cudaErrorExternalDevice:
    // "The process must be terminated and relaunched."
    case cudaErrorAssert:
    case cudaErrorMpsClientTerminated:
    // Data on the device or on the way between devices is lost.
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
      return true;
    default:
      return false;
  }
}

std::string Describe(cudaError_t error) {
  return absl::StrCat(cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
}

}  // namespace voxloc::cuda
