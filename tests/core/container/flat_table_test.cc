// SPDX-License-Identifier: Apache-2.0

#include "core/container/flat_table.h"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <random>

#include "tests/support/allocation_hooks.h"

namespace voxloc {
namespace {

using Table = FlatTable<uint64_t, int>;

void ExpectSame(const Table& table, const std::map<uint64_t, int>& expected, uint64_t keys) {
  EXPECT_EQ(table.size(), expected.size());
  for (uint64_t key = 0; key < keys; ++key) {
    const int* const found = table.Find(key);
    const auto it = expected.find(key);
    ASSERT_EQ(found != nullptr, it != expected.end()) << key;
    if (found != nullptr) {
      ASSERT_EQ(*found, it->second) << key;
    }
  }
}

TEST(FlatTableTest, HoldsWhatAMapHoldsThroughManyRounds) {
  Table table;
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    std::map<uint64_t, int> expected;
    ExpectSame(table, expected, 2000);
    const size_t wanted = random() % 1500;
    while (expected.size() < wanted) {
      const uint64_t key = random() % 2000;
      const int value = static_cast<int>(random() % 1000);
      if (table.Find(key) == nullptr) table.Insert(key, value);
      expected.emplace(key, value);
    }
    ExpectSame(table, expected, 2000);
    table.Clear();
  }
}

TEST(FlatTableTest, AValueThatIsFoundCanBeChanged) {
  Table table;
  table.Insert(3, 7);
  *table.Find(3) = 8;
  const Table& read = table;
  EXPECT_EQ(*read.Find(3), 8);
  EXPECT_EQ(table.Find(4), nullptr);
}

TEST(FlatTableTest, AClearedTableKeepsItsMemory) {
  Table table;
  const auto fill = [&] {
    for (uint64_t key = 0; key < 1000; ++key) table.Insert(key, 1);
  };
  fill();
  table.Clear();
  ResetAllocationCounts();
  fill();
  EXPECT_EQ(CountedAllocations().allocations, 0u);
  EXPECT_GE(table.MemoryBytes(), 1000 * (sizeof(uint64_t) + sizeof(int)));
}

TEST(FlatTableTest, AnInsertionWithoutMemoryLeavesItAsItWas) {
  Table table;
  std::map<uint64_t, int> expected;
  size_t failures = 0;
  for (uint64_t key = 0; key < 1000; ++key) {
    bool thrown = false;
    {
      const FailingAllocations failing(1);
      try {
        table.Insert(key, 7);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
    }
    if (thrown) {
      ++failures;
      ExpectSame(table, expected, 1000);
      table.Insert(key, 7);
    }
    expected.emplace(key, 7);
  }
  ExpectSame(table, expected, 1000);
  EXPECT_GE(failures, 4u);  // 64 slots and each doubling
}

}  // namespace
}  // namespace voxloc
