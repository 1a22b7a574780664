// SPDX-License-Identifier: Apache-2.0

#include "core/map/block_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "core/map/lattice.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using Map = BlockMap<std::shared_ptr<const int>>;

TEST(PlaceSetTest, RanksCountThePlacesBefore) {
  PlaceSet set;
  const std::vector<uint32_t> places = {0, 1, 63, 64, 200, 447, 448, 511};
  for (const uint32_t place : places) set.Insert(place);
  set.BuildRanks();
  EXPECT_EQ(set.size(), places.size());
  uint32_t rank = 0;
  for (uint32_t place = 0; place < kBlockCells; ++place) {
    EXPECT_EQ(set.Rank(place), rank) << place;
    const bool in_set = rank < places.size() && places[rank] == place;
    EXPECT_EQ(set.Contains(place), in_set) << place;
    rank += in_set ? 1 : 0;
  }
  std::vector<uint32_t> visited;
  set.ForEach([&](uint32_t place) { visited.push_back(place); });
  EXPECT_EQ(visited, places);
}

CellKey RandomBlock(RandomNumbers& random, double reach) {
  const Eigen::Vector3d at = random.InBox(reach);
  return {static_cast<int32_t>(at.x()), static_cast<int32_t>(at.y()),
          static_cast<int32_t>(0.1 * at.z())};
}

void ExpectSame(const Map& map, const std::map<CellKey, std::shared_ptr<const int>>& expected) {
  EXPECT_EQ(map.empty(), expected.empty());
  size_t visited = 0;
  map.ForEach([&](const CellKey& block, const std::shared_ptr<const int>& value) {
    const auto found = expected.find(block);
    ASSERT_NE(found, expected.end());
    EXPECT_EQ(found->second, value);
    ++visited;
  });
  EXPECT_EQ(visited, expected.size());
  for (const auto& [block, value] : expected) {
    const std::shared_ptr<const int>* const found = map.Find(block);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, value);
  }
}

TEST(BlockMapTest, SuccessorsAreAsATableThatWasChanged) {
  // Pages near each other, and so far apart that no table holds the region.
  for (const double reach : {40.0, 1.6e7}) {
    RandomNumbers random(11);
    std::mt19937_64 shuffler(12);
    Map map;
    std::map<CellKey, std::shared_ptr<const int>> expected;
    std::vector<CellKey> known;
    for (int round = 0; round < 60; ++round) {
      const Map before = map;
      const auto expected_before = expected;
      std::map<CellKey, std::optional<std::shared_ptr<const int>>> changed;
      for (int i = 0; i < 40; ++i) {
        const bool again = !known.empty() && i % 2 == 0;
        const CellKey block = again ? known[static_cast<size_t>(i) * 7919 % known.size()]
                                    : RandomBlock(random, reach);
        known.push_back(block);
        if (again && (i + round) % 3 != 0) {
          changed[block] = std::nullopt;
          expected.erase(block);
        } else {
          changed[block] = std::make_shared<const int>(round);
          expected[block] = *changed[block];
        }
      }
      std::vector<Map::Change> changes;
      for (const auto& [block, value] : changed) changes.push_back({block, value});
      if (round % 2 == 1) std::shuffle(changes.begin(), changes.end(), shuffler);
      map = map.With(std::move(changes));
      ExpectSame(map, expected);
      ExpectSame(before, expected_before);
      if (HasFatalFailure()) return;
      for (int i = 0; i < 100; ++i) {
        const CellKey block = RandomBlock(random, 1.1 * reach);
        EXPECT_EQ(map.Find(block) != nullptr, expected.count(block) == 1);
      }
    }
    std::vector<Map::Change> all;
    for (const auto& [block, value] : expected) all.push_back({block, std::nullopt});
    EXPECT_TRUE(map.With(std::move(all)).empty());
  }
}

TEST(BlockMapTest, PagesWithoutAChangeAreShared) {
  Map map;
  std::vector<Map::Change> changes;
  for (int32_t x = 0; x < 80; ++x) changes.push_back({{x, 0, 0}, std::make_shared<const int>(x)});
  map = map.With(std::move(changes));
  const Map next = map.With({{{8, 0, 0}, std::make_shared<const int>(-1)}});
  for (int32_t x = 0; x < 80; ++x) {
    // The very place where the value lies, not only what it is.
    EXPECT_EQ(map.Find({x, 0, 0}) == next.Find({x, 0, 0}), x / 8 != 1) << x;
  }
}

TEST(BlockMapTest, OnlyWantedPagesAreVisited) {
  Map map;
  std::vector<Map::Change> changes;
  for (int32_t x = -40; x < 40; ++x) {
    changes.push_back({{x, 0, 0}, std::make_shared<const int>(x)});
  }
  map = map.With(std::move(changes));
  std::vector<int32_t> visited;
  map.ForEachIn(
      [](const CellKey& first, const CellKey& last) { return first.x <= -9 && last.x >= -9; },
      [&](const CellKey& block, const std::shared_ptr<const int>& value) {
        EXPECT_EQ(*value, block.x);
        visited.push_back(block.x);
      });
  EXPECT_EQ(visited, (std::vector<int32_t>{-16, -15, -14, -13, -12, -11, -10, -9}));
}

}  // namespace
}  // namespace voxloc
