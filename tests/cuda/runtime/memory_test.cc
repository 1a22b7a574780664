// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/runtime/buffer.h"
#include "cuda/runtime/stream.h"
#include "tests/support/cuda_device.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kLimit = size_t{64} << 20;

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VOXLOC_REQUIRE_CUDA_DEVICE();
    auto device = Device::Open({0, kLimit});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }
  std::shared_ptr<Device> device_;
};

TEST_F(MemoryTest, ABufferForUsesGivesBackWhatOneOfThemTook) {
  constexpr size_t kHuge = size_t{20} << 20;
  DeviceBuffer<char> on_device(device_);
  PinnedBuffer on_host(device_);
  const auto use = [&](size_t bytes) {
    ASSERT_TRUE(on_device.ReserveForUse(bytes).ok());
    ASSERT_TRUE(on_host.ReserveForUse(bytes).ok());
  };
  use(kHuge);
  for (size_t i = 0; i < 3 * kRecentUses; ++i) use(1000);
  EXPECT_EQ(on_device.capacity(), 1000u);
  EXPECT_EQ(on_host.capacity(), 1000u);
  EXPECT_EQ(device_->memory_in_use(), 1000u);
  use(kHuge);
  for (size_t i = 0; i < 3 * kRecentUses; ++i) use(0);
  EXPECT_EQ(device_->memory_in_use(), 0u);
  EXPECT_EQ(on_host.data(), nullptr);
  use(5);
  EXPECT_NE(on_host.data(), nullptr);
}

TEST_F(MemoryTest, ABufferGrowsByHalfAtLeastAndNeverShrinks) {
  DeviceBuffer<int> buffer(device_);
  ASSERT_TRUE(buffer.Reserve(1000).ok());
  EXPECT_EQ(buffer.capacity(), 1000u);
  ASSERT_TRUE(buffer.Reserve(1001).ok());
  EXPECT_EQ(buffer.capacity(), 1500u);
  int* const data = buffer.data();
  ASSERT_TRUE(buffer.Reserve(10).ok());
  EXPECT_EQ(buffer.capacity(), 1500u);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(device_->memory_in_use(), 1500 * sizeof(int));
}

TEST_F(MemoryTest, WhatABufferHeldIsCountedBack) {
  {
    DeviceBuffer<char> buffer(device_);
    ASSERT_TRUE(buffer.Reserve(1 << 20).ok());
    DeviceBuffer<char> moved = std::move(buffer);
    EXPECT_EQ(device_->memory_in_use(), size_t{1} << 20);
  }
  EXPECT_EQ(device_->memory_in_use(), 0u);
}

TEST_F(MemoryTest, TheLimitIsKeptAndSurvived) {
  DeviceBuffer<char> most(device_);
  ASSERT_TRUE(most.ReserveExactly(kLimit - 1000).ok());
  DeviceBuffer<char> more(device_);
  EXPECT_EQ(more.ReserveExactly(1001).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(more.capacity(), 0u);
  EXPECT_TRUE(more.ReserveExactly(1000).ok());
  EXPECT_EQ(device_->MemoryFree(), 0u);
  EXPECT_TRUE(device_->healthy());
}

TEST_F(MemoryTest, MoreThanTheDeviceHasIsRefusedAndSurvived) {
  auto unlimited = Device::Open({});
  ASSERT_TRUE(unlimited.ok());
  DeviceBuffer<char> buffer(*unlimited);
  const size_t too_much = 2 * (*unlimited)->properties().memory_bytes;
  EXPECT_EQ(buffer.ReserveExactly(too_much).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(buffer.ReserveExactly(1 << 20).ok());
  EXPECT_TRUE((*unlimited)->healthy());
}

TEST_F(MemoryTest, PinnedMemoryTravelsBothWays) {
  auto stream = Stream::Create(device_, Priority::kLow);
  ASSERT_TRUE(stream.ok());
  PinnedBuffer up(device_);
  PinnedBuffer down(device_);
  DeviceBuffer<unsigned char> there(device_);
  std::vector<unsigned char> bytes(100'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  ASSERT_TRUE(up.Reserve(bytes.size()).ok());
  ASSERT_TRUE(down.Reserve(bytes.size()).ok());
  ASSERT_TRUE(there.Reserve(bytes.size()).ok());
  std::memcpy(up.data(), bytes.data(), bytes.size());
  ASSERT_EQ(
      cudaMemcpyAsync(there.data(), up.data(), bytes.size(), cudaMemcpyHostToDevice, stream->get()),
      cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(down.data(), there.data(), bytes.size(), cudaMemcpyDeviceToHost,
                            stream->get()),
            cudaSuccess);
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(std::memcmp(down.data(), bytes.data(), bytes.size()), 0);
  EXPECT_NE(up.device_data(), nullptr);
  EXPECT_EQ(device_->pageable_fallbacks(), 0u);
}

TEST_F(MemoryTest, WithoutPinnedMemoryOrdinaryMemoryServesAndIsCounted) {
  PinnedBuffer buffer(device_);
  // More than a driver will pin, less than can be promised.
  const absl::Status status = buffer.Reserve(size_t{1} << 46);
  if (status.ok()) {
    EXPECT_EQ(buffer.device_data(), nullptr);
  } else {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  }
  EXPECT_EQ(device_->pageable_fallbacks(), 1u);
  EXPECT_TRUE(device_->healthy());
  ASSERT_TRUE(buffer.Reserve(4096).ok());
}

}  // namespace
}  // namespace voxloc::cuda
