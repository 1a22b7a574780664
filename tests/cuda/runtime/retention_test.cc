// SPDX-License-Identifier: Apache-2.0
//
// What a workspace keeps, with a buffer that only counts its allocations.

#include <gtest/gtest.h>

#include <vector>

#include "cuda/runtime/buffer.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kEntryBytes = 4;
constexpr size_t kHuge = size_t{100} << 20;

class FakeBuffer {
 public:
  void Use(size_t need) {
    const size_t capacity = retention_.NextCapacity(capacity_, need, kEntryBytes);
    if (capacity != capacity_) ++allocations_;
    capacity_ = capacity;
    EXPECT_GE(capacity_, need);
  }
  [[nodiscard]] size_t capacity() const { return capacity_; }
  [[nodiscard]] size_t allocations() const { return allocations_; }

 private:
  Retention retention_;
  size_t capacity_ = 0;
  size_t allocations_ = 0;
};

TEST(RetentionTest, WhatOneHugeUseTookIsGivenBackAfterTwiceTheRecentUses) {
  for (const size_t normal : {size_t{0}, size_t{1'000'000}}) {
    FakeBuffer buffer;
    for (size_t i = 0; i < 1000; ++i) buffer.Use(normal);
    buffer.Use(kHuge);
    for (size_t i = 0; i < kRecentUses - 1; ++i) buffer.Use(normal);
    EXPECT_EQ(buffer.capacity(), kHuge) << "given back too early";
    for (size_t i = 0; i < kRecentUses + 1; ++i) buffer.Use(normal);
    EXPECT_EQ(buffer.capacity(), normal);
  }
}

TEST(RetentionTest, ANeedThatComesBackAmongTheRecentUsesAllocatesNothing) {
  for (const size_t period : {size_t{1}, size_t{7}, kRecentUses - 1}) {
    FakeBuffer buffer;
    const auto round = [&] {
      for (size_t i = 0; i < period; ++i) buffer.Use(i == 0 ? kHuge : 10);
    };
    for (int i = 0; i < 3; ++i) round();
    const size_t allocations = buffer.allocations();
    for (size_t i = 0; i < 10'000 / period; ++i) round();
    EXPECT_EQ(buffer.allocations(), allocations) << "every " << period << " uses";
  }
}

// Growth by half leaves up to half as much again, which must not look like too much.
TEST(RetentionTest, NeedsThatGrowStepByStepAllocateSeldomAndAreKept) {
  FakeBuffer buffer;
  for (size_t need = 1'000'000; need < 2'000'000; need += 1000) buffer.Use(need);
  EXPECT_LE(buffer.allocations(), 3u);
  const size_t capacity = buffer.capacity();
  for (size_t i = 0; i < 10 * kRecentUses; ++i) buffer.Use(2'000'000);
  EXPECT_EQ(buffer.capacity(), capacity);
}

TEST(RetentionTest, ALittleMemoryIsKept) {
  FakeBuffer buffer;
  buffer.Use(Retention::kAlwaysKeptBytes / kEntryBytes);
  for (size_t i = 0; i < 10 * kRecentUses; ++i) buffer.Use(0);
  EXPECT_EQ(buffer.capacity(), Retention::kAlwaysKeptBytes / kEntryBytes);
}

TEST(RecentPeakTest, IsTheLargestOfTheLastUses) {
  RecentPeak peak;
  std::vector<size_t> values;
  for (size_t i = 0; i < 5 * kRecentUses; ++i) {
    values.push_back(i * 7919 % 1009);
    peak.Add(values.back());
    size_t recent = 0;
    size_t longer = 0;
    for (size_t k = 0; k < values.size() && k < 2 * kRecentUses; ++k) {
      const size_t value = values[values.size() - 1 - k];
      if (k < kRecentUses) recent = std::max(recent, value);
      longer = std::max(longer, value);
    }
    ASSERT_GE(peak.value(), recent) << i;
    ASSERT_LE(peak.value(), longer) << i;
  }
}

}  // namespace
}  // namespace voxloc::cuda
