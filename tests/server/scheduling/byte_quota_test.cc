// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/scheduling/limits.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ByteSharesTest : public ::testing::Test {
 protected:
  std::unique_ptr<ByteQuota::Reservation> ShareOf(const std::string& name) {
    return std::make_unique<ByteQuota::Reservation>(shares_,
                                                    [this, name] { granted_.push_back(name); });
  }

  ByteQuota shares_{10, Gauge()};
  std::vector<std::string> granted_;
};

TEST_F(ByteSharesTest, WhatDoesNotFitWaitsUntilItDoes) {
  const auto a = ShareOf("a");
  const auto b = ShareOf("b");
  EXPECT_TRUE(a->Request(6));
  EXPECT_TRUE(b->Request(4));
  EXPECT_FALSE(b->Request(5));
  EXPECT_FALSE(b->Request(5));
  EXPECT_THAT(granted_, IsEmpty());
  a->Release();
  EXPECT_THAT(granted_, ElementsAre("b"));
  EXPECT_TRUE(b->Request(5));
}

TEST_F(ByteSharesTest, TurnsComeInTheOrderInWhichTheyWereAskedFor) {
  const auto a = ShareOf("a");
  const auto large = ShareOf("large");
  const auto small = ShareOf("small");
  const auto other = ShareOf("other");
  EXPECT_TRUE(a->Request(6));
  EXPECT_FALSE(large->Request(9));
  EXPECT_FALSE(small->Request(1)) << "it would keep the large one waiting";
  EXPECT_FALSE(other->Request(1));
  a->Release();
  EXPECT_THAT(granted_, ElementsAre("large", "small"));
  large->Release();
  EXPECT_THAT(granted_, ElementsAre("large", "small", "other"));
}

TEST_F(ByteSharesTest, MoreThanTheLimitIsHeldAlone) {
  const auto a = ShareOf("a");
  const auto b = ShareOf("b");
  EXPECT_TRUE(a->Request(1000));
  EXPECT_FALSE(b->Request(1));
  a->Release();
  EXPECT_THAT(granted_, ElementsAre("b"));
  EXPECT_FALSE(a->Request(1000));
  b->Release();
  EXPECT_THAT(granted_, ElementsAre("b", "a"));
}

TEST_F(ByteSharesTest, WhoHoldsAsMuchNeedNotWait) {
  const auto a = ShareOf("a");
  const auto b = ShareOf("b");
  EXPECT_TRUE(a->Request(8));
  EXPECT_FALSE(b->Request(4));
  EXPECT_TRUE(a->Request(7));
  EXPECT_THAT(granted_, IsEmpty());
  EXPECT_TRUE(a->Request(6));
  EXPECT_THAT(granted_, ElementsAre("b"));
  EXPECT_FALSE(a->Request(7));
  b->Release();
  EXPECT_THAT(granted_, ElementsAre("b", "a"));
}

TEST_F(ByteSharesTest, WhoGoesMakesRoomAndWaitsNoMore) {
  auto a = ShareOf("a");
  auto b = ShareOf("b");
  const auto c = ShareOf("c");
  EXPECT_TRUE(a->Request(8));
  EXPECT_FALSE(b->Request(9));
  EXPECT_FALSE(c->Request(2));
  b.reset();
  EXPECT_THAT(granted_, ElementsAre("c"));
  a.reset();
  EXPECT_THAT(granted_, ElementsAre("c"));
}

TEST_F(ByteSharesTest, ANewLimitLetsThoseInWhoFit) {
  const auto a = ShareOf("a");
  const auto b = ShareOf("b");
  EXPECT_TRUE(a->Request(8));
  EXPECT_FALSE(b->Request(8));
  shares_.set_limit(16);
  EXPECT_THAT(granted_, ElementsAre("b"));
}

TEST(ByteSharesThreadsTest, NeverHoldMoreThanTheLimit) {
  ByteQuota shares(100, Gauge());
  std::atomic<int> held{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, bytes = 20 + 15 * t] {
      std::atomic<bool> granted{false};
      ByteQuota::Reservation share(shares, [&granted] { granted = true; });
      for (int i = 0; i < 500; ++i) {
        granted = false;
        if (!share.Request(static_cast<uint64_t>(bytes))) {
          while (!granted) std::this_thread::yield();
        }
        if ((held += bytes) > 100) over = true;
        held -= bytes;
        share.Release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
}

}  // namespace
}  // namespace voxloc::server
