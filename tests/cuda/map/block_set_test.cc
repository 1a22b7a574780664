// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/block_set.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc::cuda {
namespace {

void ExpectSetOf(const BlockSet& set, const std::set<CellKey>& expected) {
  const std::vector<CellKey> blocks = set.Blocks();
  EXPECT_TRUE(blocks == std::vector<CellKey>(expected.begin(), expected.end()));
  for (const CellKey& block : expected) EXPECT_TRUE(set.Contains(block));
}

// A box small enough for bits, and one so large that a hash takes its place.
TEST(BlockSetTest, HoldsWhatItIsGivenAndWhatLiesAround) {
  // Rows of a set around these are shorter than a word, as long as one, longer; the last has a
  // hash.
  for (const int32_t extent : {6, 31, 50, 1 << 20}) {
    const BlockBox box = {{-extent, -3, -extent}, {extent - 1, 4, extent}};
    BlockSet set(box);
    std::set<CellKey> given;
    std::set<CellKey> around;
    RandomNumbers random(static_cast<uint64_t>(extent));
    for (int i = 0; i < 40; ++i) {
      const CellKey key = {random.Index(2 * extent) - extent, random.Index(8) - 3,
                           random.Index(2 * extent) - extent};
      EXPECT_EQ(set.Contains(key), given.count(key) > 0);
      set.Insert(key);
      given.insert(key);
      for (int n = 0; n < 27; ++n) {
        around.insert({key.x + n % 3 - 1, key.y + n / 3 % 3 - 1, key.z + n / 9 - 1});
      }
    }
    set.Insert({extent + 1, 0, 0});
    EXPECT_FALSE(set.Contains({extent + 1, 0, 0}));
    ExpectSetOf(set, given);
    ExpectSetOf(set.Dilated(), around);
  }
}

TEST(BlockSetTest, OfAnEmptyBoxIsEmpty) {
  const BlockSet set{BlockBox()};
  EXPECT_TRUE(set.Blocks().empty());
  EXPECT_FALSE(set.Contains({0, 0, 0}));
  EXPECT_TRUE(set.Dilated().Blocks().empty());
}

TEST(BlockBoxTest, KnowsWhatItContainsAndMeets) {
  BlockBox box;
  EXPECT_TRUE(box.empty());
  EXPECT_FALSE(box.Intersects(box));
  box.Include(CellKey{1, 2, 3});
  box.Include(CellKey{-1, 5, 3});
  EXPECT_EQ(box.SizeX(), 3);
  EXPECT_EQ(box.SizeY(), 4);
  EXPECT_EQ(box.SizeZ(), 1);
  EXPECT_TRUE(box.Contains(CellKey{0, 3, 3}));
  EXPECT_FALSE(box.Contains(CellKey{0, 3, 4}));
  EXPECT_TRUE(box.Dilated().Contains(CellKey{-2, 6, 4}));
  EXPECT_TRUE(box.Dilated().Contains(box));
  EXPECT_TRUE(box.Intersects({{1, 5, 3}, {9, 9, 9}}));
  EXPECT_FALSE(box.Intersects({{2, 5, 3}, {9, 9, 9}}));
}

}  // namespace
}  // namespace voxloc::cuda
