// SPDX-License-Identifier: Apache-2.0
//
// Page-locked memory in blocks: whole, apart from each other, kept, limited.

#include "cuda/runtime/page_locked_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/cuda_device.h"

namespace voxloc::cuda {
namespace {

std::shared_ptr<Device> FirstDevice() {
  auto device = Device::Open({});
  EXPECT_TRUE(device.ok()) << device.status();
  return device.ok() ? *device : nullptr;
}

bool IsPageLocked(const void* memory) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess &&
         attributes.type == cudaMemoryTypeHost && attributes.devicePointer == memory;
}

TEST(PageLockedPoolTest, BlocksAreReadableByTheDeviceAtTheirHostAddress) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  PageLockedPool pool(FirstDevice(), size_t{16} << 20);
  for (const size_t bytes : {size_t{1}, size_t{18'432}, size_t{3} << 20}) {
    const PageLockedPool::Block block = pool.Acquire(bytes);
    ASSERT_TRUE(block.page_locked()) << bytes;
    EXPECT_TRUE(IsPageLocked(block.data())) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % PageLockedPool::kAlignment, 0U);
  }
}

TEST(PageLockedPoolTest, ThreadsGetAndReturnBlocksThatDoNotOverlap) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  PageLockedPool pool(FirstDevice(), size_t{64} << 20);
  std::vector<PageLockedPool::Block> from_others(64);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t round = 0; round < 500; ++round) {
        const size_t slot = t * 16 + round % 16;
        const size_t bytes = 1000 + 997 * (round % 31);
        PageLockedPool::Block block = pool.Acquire(bytes);
        std::memset(block.data(), static_cast<int>(slot), bytes);
        from_others[slot] = std::move(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t slot = 0; slot < from_others.size(); ++slot) {
    for (size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(static_cast<uint8_t>(from_others[slot].data()[i]), slot) << i;
    }
  }
}

TEST(PageLockedPoolTest, BeyondItsLimitBlocksAreOrdinaryMemoryAndCounted) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  const std::shared_ptr<Device> device = FirstDevice();
  PageLockedPool pool(device, size_t{8} << 20);
  std::vector<PageLockedPool::Block> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(pool.Acquire(size_t{1} << 20));
  EXPECT_TRUE(blocks.front().page_locked());
  EXPECT_FALSE(blocks.back().page_locked());
  EXPECT_GT(device->pageable_fallbacks(), 0U);
  std::memset(blocks.back().data(), 1, size_t{1} << 20);
  // What was given back is there for the next.
  blocks.erase(blocks.begin());
  EXPECT_TRUE(pool.Acquire(size_t{1} << 20).page_locked());
}

TEST(PageLockedPoolTest, HugeBlocksAreOrdinaryMemory) {
  VOXLOC_REQUIRE_CUDA_DEVICE();
  const std::shared_ptr<Device> device = FirstDevice();
  PageLockedPool pool(device, size_t{64} << 20);
  const PageLockedPool::Block block = pool.Acquire(size_t{32} << 20);
  EXPECT_FALSE(block.page_locked());
  EXPECT_EQ(device->pageable_fallbacks(), 0U);
  std::memset(block.data(), 1, size_t{32} << 20);
}

}  // namespace
}  // namespace voxloc::cuda
