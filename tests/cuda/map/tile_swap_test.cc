// SPDX-License-Identifier: Apache-2.0
//
// Maps composed from their predecessors: the same bits as composed anew, and no more memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/cuda/map/layer_download.h"
#include "tests/cuda/map/map_fixture.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cuda {
namespace {

PointCloud Moved(PointCloud cloud, const Eigen::Vector3f& by) {
  for (size_t i = 0; i < cloud.size(); ++i) {
    cloud.x[i] += by.x();
    cloud.y[i] += by.y();
    cloud.z[i] += by.z();
  }
  return cloud;
}

class CudaTileSwapTest : public CudaMapTest {
 protected:
  // Each tile of the scene as it is, lifted, and moved to where others are.
  std::vector<Tiles> BuildVariants(const std::vector<CellStatistics>& statistics,
                                   const Eigen::Vector3f& offset = Eigen::Vector3f::Zero()) {
    std::vector<Tiles> variants(3);
    for (const PointCloud& tile : SceneTiles()) {
      const PointCloud cloud = Moved(tile, offset);
      variants[0].push_back(Build(cloud, statistics));
      variants[1].push_back(Build(Moved(cloud, {0.3F, -0.2F, 17.5F}), statistics));
      variants[2].push_back(Build(Moved(cloud, {-21.0F, 30.0F, -40.0F}), statistics));
    }
    return variants;
  }

  void ExpectAsComposedAnew(const CudaMap& map) {
    const auto anew = Compose(map.tiles(), map.statistics());
    ASSERT_NE(anew, nullptr);
    for (size_t s = 0; s < map.statistics().size(); ++s) {
      SCOPED_TRACE(ToString(map.statistics()[s]));
      EXPECT_EQ(map.cells(s), anew->cells(s));
      const auto chunks = DownloadChunks(map, map.statistics()[s]);
      const auto expected = DownloadChunks(*anew, map.statistics()[s]);
      ASSERT_EQ(chunks.size(), expected.size());
      for (const auto& [key, chunk] : expected) {
        const auto found = chunks.find(key);
        ASSERT_NE(found, chunks.end()) << key.x << " " << key.y << " " << key.z;
        ASSERT_TRUE(found->second == chunk) << key.x << " " << key.y << " " << key.z;
      }
    }
  }

  // Tiles replaced, added and taken away at random.
  void ExpectSwapsAsComposedAnew(const std::vector<Tiles>& variants,
                                 const std::vector<CellStatistics>& statistics, int swaps) {
    Tiles tiles = variants[0];
    auto map = Compose(tiles, statistics);
    ASSERT_NE(map, nullptr);
    RandomNumbers random(7);
    for (int swap = 0; swap < swaps; ++swap) {
      SCOPED_TRACE(swap);
      const auto at = static_cast<size_t>(random.Index(static_cast<int>(tiles.size())));
      const auto variant = static_cast<size_t>(random.Index(3));
      const int what = random.Index(6);
      if (what == 0 && tiles.size() > 10) {
        tiles.erase(tiles.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what == 1) {
        tiles.insert(tiles.begin() + static_cast<std::ptrdiff_t>(at), variants[variant][at % 16]);
      } else {
        tiles[at] = variants[variant][at % 16];
      }
      // The same tile twice is possible here, and allowed.
      map = Compose(tiles, statistics, map.get());
      ASSERT_NE(map, nullptr);
      ExpectAsComposedAnew(*map);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(CudaTileSwapTest, LeavesTheSameBitsAsComposingAnew) {
  ExpectSwapsAsComposedAnew(BuildVariants(TestStatistics()), TestStatistics(), 50);
}

// Cells are found in other blocks than their points lie in.
TEST_F(CudaTileSwapTest, LeavesTheSameBitsWhereFloatIndicesStray) {
  const std::vector<CellStatistics> statistics = {TestStatistics()[1]};
  const std::vector<Tiles> variants = BuildVariants(statistics, {400003.0F, 4000009.0F, 0.0F});
  EXPECT_FALSE(Compose(variants[0], statistics)->Layer(statistics[0])->spill_targets.empty());
  ExpectSwapsAsComposedAnew(variants, statistics, 30);
}

TEST_F(CudaTileSwapTest, SharesWhatHasNotChanged) {
  const std::vector<CellStatistics> statistics = {TestStatistics()[2]};
  const std::vector<Tiles> variants = BuildVariants(statistics);
  Tiles tiles = variants[0];
  const auto before = Compose(tiles, statistics);
  tiles[0] = variants[1][0];
  const auto after = Compose(tiles, statistics, before.get());
  ASSERT_NE(after, nullptr);
  std::set<const std::byte*> known;
  before->Layer(statistics[0])
      ->layer_blocks.ForEach(
          [&](const CellKey& /*key*/, const LayerBlock& block) { known.insert(block.chunk); });
  size_t shared = 0;
  size_t blocks = 0;
  after->Layer(statistics[0])
      ->layer_blocks.ForEach([&](const CellKey& /*key*/, const LayerBlock& block) {
        ++blocks;
        shared += known.count(block.chunk);
      });
  EXPECT_GT(2 * shared, blocks);
  EXPECT_LT(shared, blocks);
  // The map before is as it was.
  ExpectAsComposedAnew(*before);
}

TEST_F(CudaTileSwapTest, OfNothingSharesEverything) {
  const Tiles tiles = BuildAll(SceneTiles(), TestStatistics());
  const auto before = Compose(tiles, TestStatistics());
  ASSERT_NE(before, nullptr);
  const size_t memory = device_->memory_in_use();
  const auto after = Compose(tiles, TestStatistics(), before.get());
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(device_->memory_in_use(), memory);
  for (const CellStatistics& statistics : TestStatistics()) {
    EXPECT_EQ(after->Blocks(statistics)->slots, before->Blocks(statistics)->slots);
  }
}

TEST_F(CudaTileSwapTest, OfTheOrderOfTilesIsSeen) {
  Tiles tiles = BuildAll(SceneTiles(), TestStatistics());
  const auto before = Compose(tiles, TestStatistics());
  ASSERT_NE(before, nullptr);
  std::reverse(tiles.begin(), tiles.end());
  const auto after = Compose(tiles, TestStatistics(), before.get());
  ASSERT_NE(after, nullptr);
  ExpectAsComposedAnew(*after);
}

TEST_F(CudaTileSwapTest, ToNoTileAndBackWorks) {
  const Tiles tiles = BuildAll(SceneTiles(), TestStatistics());
  auto map = Compose(tiles, TestStatistics());
  map = Compose({}, TestStatistics(), map.get());
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(map->cells(0), 0u);
  EXPECT_EQ(map->Blocks(TestStatistics()[0])->slots, nullptr);
  map = Compose(tiles, TestStatistics(), map.get());
  ASSERT_NE(map, nullptr);
  ExpectAsComposedAnew(*map);
}

TEST_F(CudaTileSwapTest, AThousandTimesTakesNoMoreMemory) {
  const std::vector<CellStatistics> statistics = {TestStatistics()[0], TestStatistics()[1]};
  const std::vector<Tiles> variants = BuildVariants(statistics);
  Tiles tiles = variants[0];
  auto map = Compose(tiles, statistics);
  size_t early = 0;
  size_t late = 0;
  for (size_t swap = 0; swap < 1000; ++swap) {
    // Comes round every ten swaps.
    tiles[3 * (swap % 5)] = variants[1 + swap / 5 % 2][3 * (swap % 5)];
    map = Compose(tiles, statistics, map.get());
    ASSERT_NE(map, nullptr);
    if (swap >= 50 && swap < 100) early = std::max(early, device_->memory_in_use());
    if (swap >= 950) late = std::max(late, device_->memory_in_use());
  }
  EXPECT_EQ(early, late);
  ExpectAsComposedAnew(*map);
}

TEST_F(CudaTileSwapTest, LeavesNothingBehind) {
  const size_t before = device_->memory_in_use();
  {
    Tiles tiles = BuildAll(SceneTiles(), TestStatistics());
    auto map = Compose(tiles, TestStatistics());
    tiles.pop_back();
    map = Compose(tiles, TestStatistics(), map.get());
  }
  builder_.reset();
  EXPECT_EQ(device_->memory_in_use(), before);
}

}  // namespace
}  // namespace voxloc::cuda
