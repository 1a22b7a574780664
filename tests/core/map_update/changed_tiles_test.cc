// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/changed_tiles.h"

#include <gtest/gtest.h>

#include <vector>

namespace voxloc {
namespace {

constexpr double kTileCubeM = 0.1;
constexpr size_t kTilePasses = 6;

using Points = std::vector<Eigen::Vector3d>;

// A rectangle of points, one in each cube, at y = 0 above the ground and 10 cubes beside it.
Points Upright(double from_x_m, double to_x_m, double from_z_m, double to_z_m, double y_m) {
  Points points;
  for (double x = from_x_m + 0.05; x < to_x_m; x += kTileCubeM) {
    for (double z = from_z_m + 0.05; z < to_z_m; z += kTileCubeM) points.emplace_back(x, y_m, z);
  }
  return points;
}

// The map's ground, from x = 0 to 20 m and y = -2 to 2 m.
PointCloud Ground() {
  PointCloud ground;
  for (float x = 0.05F; x < 20.0F; x += 0.1F) {
    for (float y = -1.95F; y < 2.0F; y += 0.1F) ground.PushBack(x, y, 0.05F);
  }
  return ground;
}

// What is found where all passes hit these points.
std::vector<ChangedTile> Find(const Points& hits) {
  CubeVotes votes(kTileCubeM, Eigen::Vector3d::Constant(-30.0), Eigen::Vector3d::Constant(30.0));
  votes.AddMap(Ground());
  std::vector<int64_t> start_ns;
  for (size_t pass = 0; pass < kTilePasses; ++pass) {
    votes.AddHits(pass, hits);
    start_ns.push_back(static_cast<int64_t>(pass) * int64_t{3600'000'000'000});
  }
  votes.Settle([](const Eigen::Vector3d&) { return false; });
  const std::vector<Bounds> tiles = {{{0.0, -2.0, 0.0}, {10.0, 2.0, 0.1}, 1},
                                     {{10.0, -2.0, 0.0}, {20.0, 2.0, 0.1}, 1}};
  return FindChangedTiles(votes, {}, start_ns, tiles);
}

TEST(ChangedTilesTest, AWallIsInTheTileNearestToIt) {
  const std::vector<ChangedTile> found = Find(Upright(12.0, 18.0, 0.0, 6.0, 0.05));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].tile, 1U);
  EXPECT_TRUE(found[0].gone.empty());
  // All of it but what touches the ground of the map.
  EXPECT_EQ(found[0].added.size(), 60U * 58U);
  EXPECT_EQ(found[0].passes, (PassMask{1} << kTilePasses) - 1);
}

TEST(ChangedTilesTest, AWallThatSpansTwoTilesChangesBoth) {
  const std::vector<ChangedTile> found = Find(Upright(5.0, 15.0, 0.0, 6.0, 0.05));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].added.size(), found[1].added.size());
}

TEST(ChangedTilesTest, WhatIsNoHigherThanCarsChangesNothing) {
  EXPECT_TRUE(Find(Upright(5.0, 10.0, 0.0, 2.4, 0.05)).empty());
}

TEST(ChangedTilesTest, AFewCubesAreNoise) {
  EXPECT_TRUE(Find(Upright(5.0, 5.5, 3.0, 5.0, 0.05)).empty());
}

TEST(ChangedTilesTest, WhatStandsByItselfBesideAWallIsUnsettled) {
  Points hits = Upright(12.0, 18.0, 0.0, 6.0, 0.05);
  const Points car = Upright(13.0, 17.0, 0.4, 1.7, 1.25);
  hits.insert(hits.end(), car.begin(), car.end());
  const std::vector<ChangedTile> found = Find(hits);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].added.size(), 60U * 58U);
  EXPECT_GT(found[0].unsettled, 300U);
}

}  // namespace
}  // namespace voxloc
