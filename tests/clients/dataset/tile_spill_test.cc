// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/tile_spill.h"

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/clients/dataset/split_into_tiles.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

TileSpill::Options OptionsIn(const ScratchDir& scratch, double tile_size_m, size_t buffer_bytes) {
  TileSpill::Options options;
  options.tile_size_m = tile_size_m;
  options.directory = scratch.Path("");
  options.buffer_bytes = buffer_bytes;
  return options;
}

// Adds the cloud in pieces.
void AddAll(const PointCloud& cloud, size_t piece_points, TileSpill* spill) {
  PointCloud piece;
  piece.origin = cloud.origin;
  for (size_t i = 0; i < cloud.size(); ++i) {
    piece.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (piece.size() < piece_points && i + 1 < cloud.size()) continue;
    ASSERT_TRUE(spill->Add(piece).ok());
    piece = PointCloud();
    piece.origin = cloud.origin;
  }
}

TEST(TileSpillTest, GivesTheTilesThatACloudInMemoryIsSplitInto) {
  const ScratchDir scratch;
  for (const size_t buffer_bytes : {size_t{1}, size_t{1000}, size_t{1} << 20}) {
    PointCloud cloud = RandomCloud(3000, buffer_bytes, false);
    cloud.origin = {4'123'456.7, -712'345.6, 33.3};
    cloud.y[17] = std::numeric_limits<float>::infinity();
    const auto expected = SplitIntoTiles(cloud, 25.0);
    ASSERT_TRUE(expected.ok()) << expected.status();
    auto spill = TileSpill::Create(OptionsIn(scratch, 25.0, buffer_bytes));
    ASSERT_TRUE(spill.ok()) << spill.status();
    AddAll(cloud, 700, &*spill);
    ASSERT_TRUE(spill->Finish().ok());
    EXPECT_EQ(spill->points(), 2999u);
    EXPECT_EQ(spill->points_not_finite(), 1u);
    ASSERT_EQ(spill->tiles().size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      const auto tile = spill->Load(spill->tiles()[i]);
      ASSERT_TRUE(tile.ok()) << tile.status();
      EXPECT_EQ(tile->id, (*expected)[i].id);
      EXPECT_EQ(tile->bounds.min, (*expected)[i].bounds.min);
      EXPECT_EQ(tile->bounds.max, (*expected)[i].bounds.max);
      EXPECT_TRUE(SameBits(tile->cloud, (*expected)[i].cloud)) << tile->id;
    }
  }
}

TEST(TileSpillTest, PointsOfSeveralCloudsMeetInATile) {
  const ScratchDir scratch;
  auto spill = TileSpill::Create(OptionsIn(scratch, 10.0, 1));
  ASSERT_TRUE(spill.ok()) << spill.status();
  PointCloud first;
  first.origin = {100.0, 0.0, 5.0};
  first.PushBack(1.0F, 1.0F, 0.0F);
  PointCloud second;
  second.PushBack(102.0F, 2.0F, 7.0F);
  ASSERT_TRUE(spill->Add(first).ok());
  ASSERT_TRUE(spill->Add(second).ok());
  ASSERT_TRUE(spill->Finish().ok());
  ASSERT_EQ(spill->tiles().size(), 1u);
  const auto tile = spill->Load(spill->tiles()[0]);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_EQ(tile->id, "x100_y0");
  EXPECT_EQ(tile->cloud.origin, Eigen::Vector3d(100.0, 0.0, 5.0));
  ASSERT_EQ(tile->cloud.size(), 2u);
  EXPECT_EQ(tile->cloud.Point(1), Eigen::Vector3d(102.0, 2.0, 7.0));
}

TEST(TileSpillTest, TheFileHasNoName) {
  const ScratchDir scratch;
  auto spill = TileSpill::Create(OptionsIn(scratch, 10.0, 1));
  ASSERT_TRUE(spill.ok()) << spill.status();
  ASSERT_TRUE(spill->Add(RandomCloud(100, 1, false)).ok());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.Path("")));
}

TEST(TileSpillTest, WrongSizesPlacesAndDirectoriesAreRefused) {
  const ScratchDir scratch;
  EXPECT_EQ(TileSpill::Create(OptionsIn(scratch, 0.5, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  TileSpill::Options options = OptionsIn(scratch, 10.0, 1);
  options.directory = scratch.Path("nowhere");
  const absl::Status nowhere = TileSpill::Create(options).status();
  EXPECT_EQ(nowhere.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(nowhere.message()), HasSubstr("nowhere"));
  auto spill = TileSpill::Create(OptionsIn(scratch, 10.0, 1));
  ASSERT_TRUE(spill.ok()) << spill.status();
  PointCloud far;
  far.PushBack(0.0F, 0.0F, 0.0F);
  far.PushBack(2e9F, 0.0F, 0.0F);
  const absl::Status too_far = spill->Add(far);
  EXPECT_EQ(too_far.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(too_far.message()), HasSubstr("point 1 "));
}

}  // namespace
}  // namespace voxloc
