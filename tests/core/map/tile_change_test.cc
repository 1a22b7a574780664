// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/map/tile_catalogue.h"
#include "tests/core/map/stub_tile.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using Tiles = std::vector<const ResidentTile*>;

TEST(TileChangeTest, NamesTilesThatCameAndWent) {
  const StubTile t[6];
  const TileChange change =
      CompareTiles(Tiles{&t[0], &t[1], &t[2], &t[3]}, Tiles{&t[0], &t[4], &t[2], &t[3], &t[5]});
  EXPECT_TRUE(change.incremental);
  EXPECT_FALSE(change.empty());
  EXPECT_THAT(change.removed, ElementsAre(1));
  EXPECT_THAT(change.added, ElementsAre(1, 4));
  const Tiles same = {&t[0], &t[1]};
  EXPECT_TRUE(CompareTiles(same, same).incremental);
  EXPECT_TRUE(CompareTiles(same, same).empty());
}

TEST(TileChangeTest, StartsAnewWhenTheOrderOrTooMuchHasChanged) {
  const StubTile t[6];
  const Tiles all = {&t[0], &t[1], &t[2], &t[3], &t[4], &t[5]};
  EXPECT_FALSE(CompareTiles(Tiles{&t[0], &t[1], &t[2]}, Tiles{&t[0], &t[2], &t[1]}).incremental);
  EXPECT_FALSE(CompareTiles(Tiles{&t[0], &t[1], &t[2]}, Tiles{&t[3], &t[4], &t[2]}).incremental);
  EXPECT_FALSE(CompareTiles(Tiles{}, all).incremental);
  EXPECT_FALSE(CompareTiles(all, Tiles{}).incremental);
  // The same tile twice, then once.
  EXPECT_FALSE(CompareTiles(Tiles{&t[0], &t[1], &t[0]}, Tiles{&t[0], &t[1]}).incremental);
}

}  // namespace
}  // namespace voxloc
