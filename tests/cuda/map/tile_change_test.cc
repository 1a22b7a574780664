// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/tile_change.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace voxloc::cuda {
namespace {

using Tiles = std::vector<std::shared_ptr<const CudaTile>>;

// Tiles are told apart by who they are; what is in them does not matter.
Tiles NewTiles(size_t count) {
  Tiles tiles;
  for (size_t i = 0; i < count; ++i) {
    tiles.push_back(
        std::make_shared<const CudaTile>(nullptr, CudaTile::Points(), std::vector<TileLattice>()));
  }
  return tiles;
}

TEST(TileChangeTest, NamesTilesThatCameAndWent) {
  const Tiles t = NewTiles(6);
  const TileChange change =
      CompareTiles(Tiles{t[0], t[1], t[2], t[3]}, Tiles{t[0], t[4], t[2], t[3], t[5]});
  EXPECT_TRUE(change.incremental);
  EXPECT_EQ(change.tiles, (std::vector<const CudaTile*>{t[1].get(), t[4].get(), t[5].get()}));
  const TileChange none = CompareTiles(t, t);
  EXPECT_TRUE(none.incremental);
  EXPECT_TRUE(none.tiles.empty());
}

TEST(TileChangeTest, StartsAnewWhenTheOrderOrTooMuchHasChanged) {
  const Tiles t = NewTiles(6);
  EXPECT_FALSE(CompareTiles(Tiles{t[0], t[1], t[2]}, Tiles{t[0], t[2], t[1]}).incremental);
  EXPECT_FALSE(CompareTiles(Tiles{t[0], t[1], t[2]}, Tiles{t[3], t[4], t[2]}).incremental);
  EXPECT_FALSE(CompareTiles(Tiles{}, t).incremental);
  EXPECT_FALSE(CompareTiles(t, Tiles{}).incremental);
  // The same tile twice, then once.
  EXPECT_FALSE(CompareTiles(Tiles{t[0], t[1], t[0]}, Tiles{t[0], t[1]}).incremental);
}

}  // namespace
}  // namespace voxloc::cuda
