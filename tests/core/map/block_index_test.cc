// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "core/map/block_map.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// A region small enough for a table, and one that is not.
const CellKey kRegions[][2] = {{{-20, -3, 0}, {20, 30, 9}},
                               {{-3000, -2000, -40}, {3000, 2000, 40}}};

TEST(BlockIndexTest, BlocksAreNumberedInTheOrderInWhichTheyAreNamed) {
  for (const auto& region : kRegions) {
    BlockIndex index(region[0], region[1]);
    RandomNumbers random(43);
    std::vector<CellKey> named;
    for (int i = 0; i < 2000; ++i) {
      const auto draw = [&](int32_t low, int32_t high) {
        return low + random.Index(high - low + 1);
      };
      const CellKey block = {draw(region[0].x, region[1].x), draw(region[0].y, region[1].y),
                             draw(region[0].z, region[1].z)};
      uint32_t expected = 0;
      while (expected < named.size() && !(named[expected] == block)) ++expected;
      EXPECT_EQ(index.Find(block), expected == named.size() ? BlockIndex::kNone : expected);
      if (expected == named.size()) named.push_back(block);
      EXPECT_EQ(index.FindOrAdd(block), expected);
      EXPECT_EQ(index.Find(block), expected);
    }
    ASSERT_EQ(index.blocks().size(), named.size());
    for (size_t i = 0; i < named.size(); ++i) EXPECT_TRUE(index.blocks()[i] == named[i]);
  }
}

TEST(BlockIndexTest, BlocksOutsideTheRegionHaveNoNumber) {
  for (const auto& region : kRegions) {
    BlockIndex index(region[0], region[1]);
    index.FindOrAdd(region[0]);
    index.FindOrAdd(region[1]);
    for (const int32_t beyond : {-1, 1, -(1 << 25), 1 << 25}) {
      const CellKey& from = beyond < 0 ? region[0] : region[1];
      EXPECT_EQ(index.Find({from.x + beyond, from.y, from.z}), BlockIndex::kNone);
      EXPECT_EQ(index.Find({from.x, from.y + beyond, from.z}), BlockIndex::kNone);
      EXPECT_EQ(index.Find({from.x, from.y, from.z + beyond}), BlockIndex::kNone);
    }
  }
  EXPECT_EQ(BlockIndex().Find({0, 0, 0}), BlockIndex::kNone);
}

}  // namespace
}  // namespace voxloc
