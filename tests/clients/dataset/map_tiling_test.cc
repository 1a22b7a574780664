// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "clients/dataset/tile_spill.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/clients/dataset/split_into_tiles.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/real_data.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> IdsOf(const std::vector<TileCloud>& tiles) {
  std::vector<std::string> ids;
  for (const TileCloud& tile : tiles) ids.push_back(tile.id);
  return ids;
}

TEST(MapTilingTest, TilesAreNamedByTheirLowestCorner) {
  PointCloud cloud;
  cloud.PushBack(-0.001F, 40.0F, 1.0F);
  cloud.PushBack(0.0F, 19.999F, 2.0F);
  cloud.PushBack(-20.0F, 59.9F, 3.0F);
  cloud.PushBack(20.0F, 0.0F, 4.0F);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  const auto tiles = SplitIntoTiles(cloud, 20.0);
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  EXPECT_THAT(IdsOf(*tiles), ElementsAre("x-20_y40", "x0_y0", "x20_y0"));
  const TileCloud& first = (*tiles)[0];
  EXPECT_EQ(first.bounds.min, Eigen::Vector2d(-20, 40));
  EXPECT_EQ(first.bounds.max, Eigen::Vector2d(0, 60));
  EXPECT_EQ(first.cloud.origin, Eigen::Vector3d(-20, 40, 0));
  ASSERT_EQ(first.cloud.size(), 2u);
  EXPECT_NEAR(first.cloud.Point(0).x(), -0.001, 1e-6);
  EXPECT_EQ(first.cloud.Point(1).z(), 3.0);
}

TEST(MapTilingTest, SizesWithAFractionHaveExactNames) {
  PointCloud cloud;
  cloud.PushBack(-13.0F, 26.0F, 0.0F);
  EXPECT_THAT(IdsOf(*SplitIntoTiles(cloud, 12.5)), ElementsAre("x-25_y25"));
  EXPECT_THAT(IdsOf(*SplitIntoTiles(cloud, 2.5)), ElementsAre("x-15_y25"));
  EXPECT_THAT(IdsOf(*SplitIntoTiles(cloud, 1.3)), ElementsAre("x-13_y26"));
  cloud.origin = {4'123'400.0, -700'000.0, 0.0};
  EXPECT_THAT(IdsOf(*SplitIntoTiles(cloud, 100.0)), ElementsAre("x4123300_y-700000"));
}

// Every point is in exactly one tile, inside its bounds, where it was, in its order.
TEST(MapTilingTest, TilesTogetherAreTheCloud) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PointCloud cloud = RandomCloud(2000, seed, true);
    // The intensity carries the point's number.
    for (size_t i = 0; i < cloud.size(); ++i) cloud.intensity[i] = static_cast<float>(i);
    if (seed % 2 == 1) cloud.origin = {4'123'456.7, -712'345.6, 33.3};
    const double size = 7.0 + static_cast<double>(seed) * 3.7;
    const auto tiles = SplitIntoTiles(cloud, size);
    ASSERT_TRUE(tiles.ok()) << tiles.status();
    std::set<size_t> seen;
    std::set<std::string> ids;
    for (const TileCloud& tile : *tiles) {
      EXPECT_TRUE(ids.insert(tile.id).second) << tile.id;
      ASSERT_GT(tile.cloud.size(), 0u);
      for (size_t i = 0; i < tile.cloud.size(); ++i) {
        const size_t number = static_cast<size_t>(tile.cloud.intensity[i]);
        ASSERT_TRUE(seen.insert(number).second);
        ASSERT_TRUE(i == 0 || tile.cloud.intensity[i - 1] < tile.cloud.intensity[i]);
        ASSERT_LT((tile.cloud.Point(i) - cloud.Point(number)).cwiseAbs().maxCoeff(), 2e-5);
        const Eigen::Vector2d xy = cloud.Point(number).head<2>();
        ASSERT_TRUE((xy.array() >= tile.bounds.min.array() - 1e-9).all());
        ASSERT_TRUE((xy.array() <= tile.bounds.max.array() + 1e-9).all());
        ASSERT_LE(tile.cloud.Offset(i).head<2>().maxCoeff(), static_cast<float>(size) * 1.0001F);
      }
    }
    EXPECT_EQ(seen.size(), cloud.size());
  }
}

TEST(MapTilingTest, TheGridDoesNotDependOnTheCloud) {
  const PointCloud cloud = RandomCloud(1000, 3, false);
  PointCloud far_part;
  far_part.PushBack(55.0F, 55.0F, 0.0F);
  std::set<std::string> ids;
  const auto whole = SplitIntoTiles(cloud, 10.0);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const TileCloud& tile : *whole) ids.insert(tile.id);
  const auto part = SplitIntoTiles(far_part, 10.0);
  ASSERT_TRUE(part.ok()) << part.status();
  ASSERT_EQ(part->size(), 1u);
  EXPECT_EQ(ids.count(part->front().id), 1u);
}

TEST(MapTilingTest, WrongSizesAndPlacesAreRefused) {
  PointCloud cloud;
  cloud.PushBack(1.0F, 1.0F, 1.0F);
  for (const double size : {0.0, -20.0, 0.5, 2e6, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(SplitIntoTiles(cloud, size).status().code(), absl::StatusCode::kInvalidArgument);
  }
  cloud.PushBack(0.0F, 2e9F, 0.0F);
  const auto far = SplitIntoTiles(cloud, 20.0);
  EXPECT_EQ(far.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(far.status().message()), HasSubstr("point 1"));
  EXPECT_TRUE(SplitIntoTiles(PointCloud(), 20.0)->empty());
}

TEST(MapTilingTest, TheCourtyardIsCutWithoutLoss) {
  VOXLOC_REAL_DATA_OR_SKIP(data);
  const auto map = ReadCloud(data + "/courtyard/map.pcd");
  ASSERT_TRUE(map.ok()) << map.status();
  const auto tiles = SplitIntoTiles(*map, 20.0);
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  size_t points = 0;
  std::set<double> columns;
  std::set<double> rows;
  for (const TileCloud& tile : *tiles) {
    points += tile.cloud.size();
    columns.insert(tile.bounds.min.x());
    rows.insert(tile.bounds.min.y());
  }
  EXPECT_EQ(points, 62'863u);
  EXPECT_GE(columns.size(), 3u);  // 57 m
  EXPECT_GE(rows.size(), 3u);     // 50 m
}

}  // namespace
}  // namespace voxloc
