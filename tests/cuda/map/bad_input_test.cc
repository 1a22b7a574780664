// SPDX-License-Identifier: Apache-2.0
//
// What cannot be built is refused in the CPU engine's words, and the builder works on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "core/map/tile_moments.h"
#include "tests/cuda/map/layer_download.h"
#include "tests/cuda/map/map_fixture.h"

namespace voxloc::cuda {
namespace {

using ::testing::HasSubstr;

class CudaMapBadInputTest : public CudaMapTest {
 protected:
  // With the coarsest lattice alone, so that both engines come upon the same error first.
  void ExpectRefusedAsOnCpu(const PointCloud& cloud) {
    const std::vector<CellStatistics> statistics(1);
    const auto expected = BuildTileMoments(cloud, statistics[0].cell_size_m);
    const auto tile = builder_->BuildTile(cloud, statistics);
    EXPECT_EQ(tile.status(), expected.status());
    EXPECT_EQ(tile.status().code(), absl::StatusCode::kInvalidArgument);
  }
  void ExpectWorks() {
    const auto map = Compose(BuildAll(SceneTiles(), TestStatistics()), TestStatistics());
    ASSERT_NE(map, nullptr);
    EXPECT_GT(map->cells(0), 100u);
  }
};

TEST_F(CudaMapBadInputTest, CloudsWithoutAPlaceAreRefusedAsOnTheCpu) {
  ExpectRefusedAsOnCpu({});
  PointCloud cloud;
  cloud.PushBack(std::nanf(""), 0.0F, 0.0F);
  cloud.PushBack(0.0F, HUGE_VALF, 0.0F);
  ExpectRefusedAsOnCpu(cloud);
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  cloud.origin.y() = std::nan("");
  ExpectRefusedAsOnCpu(cloud);
  cloud.origin = {0.0, 1e9, 0.0};
  ExpectRefusedAsOnCpu(cloud);
  cloud.origin = Eigen::Vector3d::Zero();
  cloud.PushBack(0.0F, -3e30F, 0.0F);
  ExpectRefusedAsOnCpu(cloud);
  ExpectWorks();
}

TEST_F(CudaMapBadInputTest, TilesOfOtherLatticesAreRefused) {
  const Tiles tiles = {Build(SceneTiles()[0], {TestStatistics()[0], TestStatistics()[3]})};
  EXPECT_THAT(
      std::string(builder_->Compose(tiles, {{TestStatistics()[2]}}, nullptr).status().message()),
      HasSubstr("without a lattice of 1 m"));
  EXPECT_THAT(
      std::string(builder_->Compose(tiles, {{TestStatistics()[1]}}, nullptr).status().message()),
      HasSubstr("without a float32 index"));
}

TEST_F(CudaMapBadInputTest, OnePointMakesAMapWithoutACell) {
  PointCloud cloud;
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  const auto map = Compose({Build(cloud, TestStatistics())}, TestStatistics());
  ASSERT_NE(map, nullptr);
  for (size_t s = 0; s < TestStatistics().size(); ++s) {
    EXPECT_EQ(map->cells(s), 0u);
    EXPECT_EQ(map->Blocks(TestStatistics()[s])->slots, nullptr);
    EXPECT_TRUE(DownloadChunks(*map, TestStatistics()[s]).empty());
  }
  CellStatistics other;
  other.cell_size_m = 5.0;
  EXPECT_EQ(map->Blocks(other), nullptr);
}

TEST_F(CudaMapBadInputTest, MapsOfAbsurdExtentAreRefusedWithTheirExtent) {
  const std::vector<CellStatistics> statistics(1);
  const PointCloud near = SceneTiles()[0];
  PointCloud far = near;
  far.origin.x() += 5e7;  // 3,125,000 blocks of 16 m
  const Tiles tiles = {Build(near, statistics), Build(far, statistics)};
  const auto refused = builder_->Compose(tiles, statistics, nullptr);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("31250"));
  // Half as far is allowed.
  far.origin.x() = 2.5e7;
  const auto map = Compose({tiles[0], Build(far, statistics)}, statistics);
  ASSERT_NE(map, nullptr);
  EXPECT_GT(DownloadChunks(*map, statistics[0]).size(), 1u);
}

TEST_F(CudaMapBadInputTest, WithoutMemoryItSaysSoAndWorksOn) {
  PointCloud large;
  for (int i = 0; i < 400'000; ++i) {
    large.PushBack(static_cast<float>(i % 640) * 0.3F, static_cast<float>(i / 640) * 0.3F, 1.0F);
  }
  DeviceOptions options;
  options.memory_limit_bytes = size_t{14} << 20;
  Open(options);
  for (int repeat = 0; repeat < 3; ++repeat) {
    EXPECT_EQ(builder_->BuildTile(large, TestStatistics()).status().code(),
              absl::StatusCode::kResourceExhausted);
    const auto tile = Build(SceneTiles()[5], TestStatistics());
    ASSERT_NE(tile, nullptr);
    const auto map = Compose({tile}, TestStatistics());
    ASSERT_NE(map, nullptr);
  }
  // Composing runs out as well.
  Tiles tiles;
  for (;;) {
    auto tile = builder_->BuildTile(SceneTiles()[5], TestStatistics());
    if (!tile.ok()) break;
    tiles.push_back(*tile);
    ASSERT_LT(tiles.size(), 10'000u);
  }
  const size_t before = device_->memory_in_use();
  EXPECT_EQ(builder_->Compose(tiles, TestStatistics(), nullptr).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_LE(device_->memory_in_use(), before);
  tiles.resize(1);
  EXPECT_NE(Compose(tiles, TestStatistics()), nullptr);
}

TEST_F(CudaMapBadInputTest, CallsFromManyThreadsDoNotDisturbEachOther) {
  const PointCloud cloud = SceneTiles()[5];
  const auto expected = Build(cloud, TestStatistics());
  ASSERT_NE(expected, nullptr);
  const auto moments = expected->Download(2.0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const auto tile = builder_->BuildTile(cloud, TestStatistics());
        ASSERT_TRUE(tile.ok()) << tile.status();
        const auto again = (*tile)->Download(2.0);
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(again->places, moments->places);
        const auto map = builder_->Compose({{*tile}}, TestStatistics(), nullptr);
        ASSERT_TRUE(map.ok()) << map.status();
        EXPECT_GT((*map)->cells(0), 0u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace voxloc::cuda
