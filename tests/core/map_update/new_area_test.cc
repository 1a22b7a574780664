// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/new_area.h"

#include <gtest/gtest.h>

namespace voxloc {
namespace {

TEST(NewAreaTest, IsWhereNoTileOfTheMapIs) {
  const std::vector<Bounds> tiles = {{{-5.0, 0.0, 0.0}, {10.0, 20.0, 5.0}, 7},
                                     {{40.0, 0.0, 0.0}, {60.0, 20.0, 5.0}, 0}};
  const NewArea area(tiles, 20.0);
  EXPECT_FALSE(area.Has({-4.9, 0.1, 100.0}));
  EXPECT_FALSE(area.Has({9.9, 19.9, 0.0}));
  EXPECT_TRUE(area.Has({10.1, 10.0, 0.0}));
  EXPECT_TRUE(area.Has({5.0, -0.1, 0.0}));
  EXPECT_TRUE(area.Has({50.0, 10.0, 2.0}));  // a tile without points
}

TEST(NewAreaTest, HasSquaresFromTheMapsZeroOn) {
  const NewArea area({}, 20.0);
  EXPECT_EQ(area.SquareOf({-0.1, 20.0, 3.0}), (TileSquare{-1, 1}));
  EXPECT_EQ(area.CornerOf({-1, 1}), Eigen::Vector2d(-20.0, 20.0));
  EXPECT_EQ(area.DistanceTo({-1, 1}, {-10.0, 30.0, 9.0}), 0.0);
  EXPECT_DOUBLE_EQ(area.DistanceTo({-1, 1}, {3.0, 16.0, 9.0}), 5.0);
}

}  // namespace
}  // namespace voxloc
