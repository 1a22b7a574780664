// SPDX-License-Identifier: Apache-2.0
//
// Maps out of tiles on the device: successors share with their predecessor and equal, bit by bit,
// what is composed afresh.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/reference_ndt.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

using Tiles = std::vector<std::shared_ptr<const ResidentTile>>;

class CudaComposeTest : public CudaEngineTest {
 protected:
  static Tiles BuildTiles(const std::vector<PointCloud>& clouds) {
    Tiles tiles;
    for (const PointCloud& cloud : clouds) {
      auto tile = CudaEngine().BuildTile(cloud, AllStatistics());
      EXPECT_TRUE(tile.ok()) << tile.status();
      if (tile.ok()) tiles.push_back(*std::move(tile));
    }
    return tiles;
  }
  static std::vector<PointCloud> Clouds() {
    return CutIntoTiles(SceneMap(), 5, 2, {-31.0, -31.0}, {12.4, 31.0});
  }
  static std::shared_ptr<const ResidentMap> Compose(const Tiles& tiles,
                                                    const ResidentMap* previous = nullptr) {
    auto map = CudaEngine().Compose(tiles, AllStatistics(), previous);
    EXPECT_TRUE(map.ok()) << map.status();
    return map.ok() ? *map : nullptr;
  }
  static std::string AlignedBits(const std::shared_ptr<const ResidentMap>& map) {
    std::string bits;
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      AlignJob job = SceneJob(profile);
      job.map = map;
      job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
      job.want_point_scores = true;
      const AlignResult result = AlignOne(CudaEngine(), job);
      EXPECT_TRUE(result.status.ok()) << result.status;
      bits += Bits(result);
    }
    return bits;
  }
  static void ExpectSameMaps(const std::shared_ptr<const ResidentMap>& a,
                             const std::shared_ptr<const ResidentMap>& b) {
    ASSERT_NE(a, nullptr);
    ASSERT_NE(b, nullptr);
    for (const CellStatistics& statistics : AllStatistics()) {
      SCOPED_TRACE(ToString(statistics));
      const std::vector<MapCell> cells_a = AllCells(*a, statistics);
      const std::vector<MapCell> cells_b = AllCells(*b, statistics);
      ASSERT_EQ(cells_a.size(), cells_b.size());
      size_t different = 0;
      for (size_t i = 0; i < cells_a.size(); ++i) {
        const bool same =
            cells_a[i].key == cells_b[i].key && cells_a[i].count == cells_b[i].count &&
            cells_a[i].mean == cells_b[i].mean && cells_a[i].index == cells_b[i].index &&
            reference::ToEigen(cells_a[i].information) ==
                reference::ToEigen(cells_b[i].information);
        different += same ? 0 : 1;
      }
      EXPECT_EQ(different, 0u);
    }
    EXPECT_TRUE(AlignedBits(a) == AlignedBits(b));
  }
};

TEST_F(CudaComposeTest, ASuccessorWithAReplacedTileEqualsAFreshMap) {
  std::vector<PointCloud> clouds = Clouds();
  const Tiles tiles = BuildTiles(clouds);
  const auto first = Compose(tiles);
  for (float& z : clouds[4].z) z += 0.3F;
  Tiles replaced = tiles;
  replaced[4] = BuildTiles({clouds[4]})[0];
  const auto successor = Compose(replaced, first.get());
  ExpectSameMaps(successor, Compose(replaced));
  EXPECT_FALSE(AlignedBits(successor) == AlignedBits(first));
  ExpectSameMaps(Compose(tiles, successor.get()), first);
}

TEST_F(CudaComposeTest, TilesComeAndGo) {
  const Tiles tiles = BuildTiles(Clouds());
  const auto all = Compose(tiles);
  Tiles fewer = tiles;
  fewer.erase(fewer.begin() + 2, fewer.begin() + 5);
  const auto without = Compose(fewer, all.get());
  ExpectSameMaps(without, Compose(fewer));
  ExpectSameMaps(Compose(tiles, without.get()), all);
  const auto none = Compose({}, all.get());
  ASSERT_NE(none, nullptr);
  for (size_t i = 0; i < AllStatistics().size(); ++i) EXPECT_EQ(none->cells(i), 0u);
  ExpectSameMaps(Compose(tiles, none.get()), all);
}

// Successors of successors, as a server makes them.
TEST_F(CudaComposeTest, ALongLineOfSuccessorsEqualsAFreshMap) {
  std::vector<PointCloud> clouds = Clouds();
  Tiles tiles = BuildTiles(clouds);
  auto map = Compose(tiles);
  for (size_t i = 0; i < 200; ++i) {
    const size_t at = (7 * i) % clouds.size();
    for (float& z : clouds[at].z) z += (i % 2 == 0 ? 0.01F : -0.01F);
    tiles[at] = BuildTiles({clouds[at]})[0];
    map = Compose(tiles, map.get());
  }
  ExpectSameMaps(map, Compose(tiles));
}

TEST_F(CudaComposeTest, ASuccessorOutlivesItsPredecessorAndItsTiles) {
  Tiles tiles = BuildTiles(Clouds());
  auto first = Compose(tiles);
  Tiles fewer(tiles.begin() + 1, tiles.end());
  auto second = Compose(fewer, first.get());
  const std::string expected = AlignedBits(second);
  first.reset();
  tiles.clear();
  fewer.clear();
  // What they held is used again.
  const Tiles others = BuildTiles(Clouds());
  const auto other = Compose(others);
  EXPECT_TRUE(AlignedBits(second) == expected);
}

// An alignment holds its map: the last owner may be a job that is running.
TEST_F(CudaComposeTest, AMapGivenAwayIsStillAlignedIn) {
  std::vector<AlignJob> jobs(100, SceneJob(PreciseProfile()));
  auto map = Compose(BuildTiles(Clouds()));
  const std::string expected = AlignedBits(map);
  for (AlignJob& job : jobs) job.map = map;
  map.reset();
  for (const AlignResult& result : CudaEngine().Align(jobs)) {
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.05);
  }
  jobs.clear();
  EXPECT_TRUE(AlignedBits(Compose(BuildTiles(Clouds()))) == expected);
}

TEST_F(CudaComposeTest, OtherStatisticsThanThePredecessorsAreComposedAfresh) {
  const Tiles tiles = BuildTiles(Clouds());
  const auto first = CudaEngine().Compose(tiles, {AllStatistics()[0]}, nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  ExpectSameMaps(Compose(tiles, first->get()), Compose(tiles));
}

TEST_F(CudaComposeTest, APredecessorOfAnotherEngineIsOfNoUse) {
  const Tiles tiles = BuildTiles(Clouds());
  ExpectSameMaps(Compose(tiles, SceneMapPair().cpu.get()), Compose(tiles));
}

TEST_F(CudaComposeTest, CellsInABoxAreThoseOfTheCpu) {
  const MapPair& maps = SceneMapPair();
  const Eigen::Vector3d min(-10.0, -5.0, -1.0);
  const Eigen::Vector3d max(5.0, 12.0, 2.0);
  for (size_t i = 0; i < AllStatistics().size(); ++i) {
    SCOPED_TRACE(i);
    const auto expected = maps.cpu->CellsInBox(i, min, max, 1'000'000);
    ASSERT_TRUE(expected.ok());
    const auto cells = maps.cuda->CellsInBox(i, min, max, expected->size());
    ASSERT_TRUE(cells.ok()) << cells.status();
    ASSERT_EQ(cells->size(), expected->size());
    for (size_t c = 0; c < cells->size(); ++c) {
      EXPECT_TRUE((*cells)[c].key == (*expected)[c].key) << c;
    }
    if (expected->empty()) continue;
    const auto too_many = maps.cuda->CellsInBox(i, min, max, expected->size() - 1);
    EXPECT_EQ(too_many.status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_GT(maps.cuda->MemoryBytes(), maps.cuda->cells(0));
}

}  // namespace
}  // namespace voxloc
