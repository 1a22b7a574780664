// SPDX-License-Identifier: Apache-2.0
//
// A fixture of tests that use the device itself; they skip where there is none.

#ifndef VOXLOC_TESTS_CUDA_ON_DEVICE_H_
#define VOXLOC_TESTS_CUDA_ON_DEVICE_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "cuda/runtime/device.h"
#include "tests/support/cuda_device.h"

namespace voxloc::cuda {

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    VOXLOC_REQUIRE_CUDA_DEVICE();
    auto device = Device::Open({});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  std::shared_ptr<Device> device_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_ON_DEVICE_H_
