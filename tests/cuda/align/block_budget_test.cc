// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/block_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace voxloc::cuda {
namespace {

TEST(BackgroundRoomTest, SharesAreOfWhatIsFree) {
  const auto budget = std::make_shared<BlockBudget>(10);
  std::optional<BlockBudget::Reservation> first = budget->TryAcquire(6);
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(budget->TryAcquire(5).has_value());
  EXPECT_TRUE(budget->TryAcquire(4).has_value());  // and given back
  first.reset();
  EXPECT_TRUE(budget->TryAcquire(10).has_value());
}

TEST(BackgroundRoomTest, ADemandForMoreThanThereIsIsForAllOfIt) {
  const auto budget = std::make_shared<BlockBudget>(10);
  const std::optional<BlockBudget::Reservation> all = budget->TryAcquire(1000);
  EXPECT_TRUE(all.has_value());
  EXPECT_FALSE(budget->TryAcquire(1).has_value());
}

TEST(BackgroundRoomTest, AMovedShareIsGivenBackOnce) {
  const auto budget = std::make_shared<BlockBudget>(10);
  {
    BlockBudget::Reservation share = budget->Acquire(4);
    BlockBudget::Reservation other = budget->Acquire(6);
    share = std::move(other);  // which leaves the four to the other
    EXPECT_FALSE(budget->TryAcquire(1).has_value());
  }
  EXPECT_TRUE(budget->TryAcquire(10).has_value());
}

// A call with many slices would otherwise take again and again what it gives back.
TEST(BackgroundRoomTest, WhoWaitsIsNotPassedBy) {
  const auto budget = std::make_shared<BlockBudget>(10);
  std::optional<BlockBudget::Reservation> most = budget->TryAcquire(8);
  EXPECT_TRUE(budget->TryAcquire(1).has_value());
  std::thread waiter([&] { static_cast<void>(budget->Acquire(4)); });
  while (budget->TryAcquire(1).has_value()) std::this_thread::yield();
  most.reset();
  waiter.join();
  EXPECT_TRUE(budget->TryAcquire(10).has_value());
}

TEST(BackgroundRoomTest, NeverMoreIsTakenThanThereIs) {
  const auto budget = std::make_shared<BlockBudget>(7);
  std::atomic<int> taken{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int blocks = 1 + (i + t) % 5;
        const BlockBudget::Reservation share = budget->Acquire(blocks);
        const int now = taken += blocks;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        taken -= blocks;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 7);
  EXPECT_TRUE(budget->TryAcquire(7).has_value());
}

}  // namespace
}  // namespace voxloc::cuda
