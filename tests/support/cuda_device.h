// SPDX-License-Identifier: Apache-2.0
//
// Skips tests that need an NVIDIA device if there is none. Link voxloc::cuda_runtime.

#ifndef VOXLOC_TESTS_SUPPORT_CUDA_DEVICE_H_
#define VOXLOC_TESTS_SUPPORT_CUDA_DEVICE_H_

#include <gtest/gtest.h>

#include <string>

#include "cuda/runtime/device.h"

namespace voxloc {

// Why no device can be used; empty where there is one.
inline const std::string& CudaDeviceError() {
  static const auto& why = *new std::string([] {
    std::string reason;
    if (cuda::CountDevices(&reason) > 0) return std::string();
    return reason.empty() ? std::string("the driver shows none") : reason;
  }());
  return why;
}

}  // namespace voxloc

// First in a test's body, or in SetUp() of a fixture.
#define VOXLOC_REQUIRE_CUDA_DEVICE()                                     \
  do {                                                                   \
    if (!::voxloc::CudaDeviceError().empty()) {                          \
      GTEST_SKIP() << "no CUDA device: " << ::voxloc::CudaDeviceError(); \
    }                                                                    \
  } while (false)

#endif  // VOXLOC_TESTS_SUPPORT_CUDA_DEVICE_H_
