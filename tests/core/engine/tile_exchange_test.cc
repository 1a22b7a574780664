// SPDX-License-Identifier: Apache-2.0
//
// Tiles as bytes: what is imported makes the maps of the original.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/map/stub_tile.h"
#include "tests/support/engine_test.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using Tiles = std::vector<std::shared_ptr<const ResidentTile>>;

class TileExchangeTest : public EngineTest {
 protected:
  static Tiles BuildTiles() {
    Tiles tiles;
    for (const PointCloud& cloud : CutIntoTiles(SceneMap(), 3, 2, {-31.0, -31.0}, {20.7, 31.0})) {
      auto tile = engine().BuildTile(cloud, AllStatistics());
      EXPECT_TRUE(tile.ok()) << tile.status();
      tiles.push_back(*std::move(tile));
    }
    return tiles;
  }

  static std::string Export(const ResidentTile& tile) {
    auto bytes = engine().ExportTile(tile);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return *std::move(bytes);
  }

  // The cells of a map of these tiles, and alignments in it.
  static std::string MapBits(const Tiles& tiles) {
    const auto map = engine().Compose(tiles, AllStatistics(), nullptr);
    EXPECT_TRUE(map.ok()) << map.status();
    std::string bits;
    const auto append = [&bits](const void* data, size_t size) {
      bits.append(static_cast<const char*>(data), size);
    };
    for (const CellStatistics& statistics : AllStatistics()) {
      for (const MapCell& cell : AllCells(**map, statistics)) {
        append(&cell.key, sizeof(cell.key));
        append(&cell.count, sizeof(cell.count));
        append(cell.mean.data(), 3 * sizeof(double));
        append(cell.index.data(), 3 * sizeof(double));
        append(&cell.information, sizeof(cell.information));
      }
    }
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      AlignJob job = SceneJob(profile);
      job.map = *map;
      job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
      job.with_point_scores = true;
      const AlignResult result = AlignOne(engine(), job);
      EXPECT_TRUE(result.status.ok()) << result.status;
      bits += Bits(result);
    }
    return bits;
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(TileExchangeTest);

TEST_P(TileExchangeTest, AnImportedTileMakesTheMapsOfTheOriginal) {
  const Tiles tiles = BuildTiles();
  Tiles imported;
  for (const auto& tile : tiles) {
    const std::string bytes = Export(*tile);
    auto again = engine().ImportTile(bytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->points(), tile->points());
    EXPECT_EQ((*again)->not_finite(), tile->not_finite());
    EXPECT_EQ((*again)->cells(), tile->cells());
    EXPECT_EQ(Export(**again), bytes);
    imported.push_back(*std::move(again));
  }
  EXPECT_TRUE(MapBits(imported) == MapBits(tiles));
}

TEST_P(TileExchangeTest, BytesThatAreDamagedOrOfAnotherVersionAreRefused) {
  const std::string bytes = Export(*BuildTiles()[0]);
  for (const size_t size : {size_t{0}, size_t{3}, size_t{60}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_EQ(engine().ImportTile(bytes.substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 50) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    const absl::Status status = engine().ImportTile(flipped).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_THAT(std::string(status.message()), HasSubstr("damaged"));
  }
}

TEST_P(TileExchangeTest, ATileOfNoEngineIsRefused) {
  const absl::Status status = engine().ExportTile(StubTile()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("belong"));
}

TEST_P(TileExchangeTest, WhatATileWasBuiltWithoutItIsImportedWithout) {
  CellStatistics mean_index = AllStatistics()[0];
  mean_index.cell_size_m = 2.0;
  mean_index.float_index = false;
  CellStatistics float_index = mean_index;
  float_index.merge_tiles = false;
  float_index.float_index = true;
  const auto tile = engine().BuildTile(SceneMap(), {&mean_index, 1});
  ASSERT_TRUE(tile.ok()) << tile.status();
  const auto again = engine().ImportTile(Export(**tile));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(engine().Compose({*again}, {&mean_index, 1}, nullptr).ok());
  for (const auto& one : {*tile, *again}) {
    const absl::Status status = engine().Compose({one}, {&float_index, 1}, nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("without a float32 index"));
  }
}

}  // namespace
}  // namespace voxloc
