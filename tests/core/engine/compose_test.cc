// SPDX-License-Identifier: Apache-2.0
//
// Maps out of tiles: successors share with their predecessor and equal what is composed afresh.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/map/stub_tile.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using Tiles = std::vector<std::shared_ptr<const ResidentTile>>;

class ComposeTest : public EngineTest {
 protected:
  static Tiles BuildTiles(const std::vector<PointCloud>& clouds) {
    Tiles tiles;
    for (const PointCloud& cloud : clouds) {
      auto tile = engine().BuildTile(cloud, AllStatistics());
      EXPECT_TRUE(tile.ok()) << tile.status();
      tiles.push_back(*tile);
      EXPECT_EQ(tiles.back()->points(), cloud.size());
      EXPECT_EQ(tiles.back()->not_finite(), 0u);
      EXPECT_GT(tiles.back()->cells(), 0u);
      EXPECT_GT(tiles.back()->MemoryBytes(), tiles.back()->cells());
    }
    return tiles;
  }

  static std::shared_ptr<const ResidentMap> Compose(
      const Tiles& tiles, const ResidentMap* previous = nullptr,
      const std::vector<CellStatistics>& statistics = AllStatistics()) {
    auto map = engine().Compose(tiles, statistics, previous);
    EXPECT_TRUE(map.ok()) << map.status();
    return *map;
  }

  static std::string AlignedBits(const std::shared_ptr<const ResidentMap>& map) {
    std::string bits;
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      AlignJob job = SceneJob(profile);
      job.map = map;
      job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
      job.with_point_scores = true;
      const AlignResult result = AlignOne(engine(), job);
      EXPECT_TRUE(result.status.ok()) << result.status;
      bits += Bits(result);
    }
    return bits;
  }

  // The same cells; and alignments in them are alike, to the bit.
  static void ExpectSameMaps(const std::shared_ptr<const ResidentMap>& a,
                             const std::shared_ptr<const ResidentMap>& b) {
    ASSERT_EQ(a->statistics().size(), b->statistics().size());
    for (const CellStatistics& statistics : a->statistics()) {
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

  const std::vector<CellStatistics> statistics_ = AllStatistics();
  std::vector<PointCloud> clouds_ = CutIntoTiles(SceneMap(), 5, 2, {-31.0, -31.0}, {12.4, 31.0});
  Tiles tiles_ = BuildTiles(clouds_);
};
VOXLOC_INSTANTIATE_ON_ENGINES(ComposeTest);

TEST_P(ComposeTest, TilesComeAndGo) {
  const auto all = Compose(tiles_);
  Tiles fewer = tiles_;
  fewer.erase(fewer.begin() + 2, fewer.begin() + 5);
  const auto without = Compose(fewer, all.get());
  ExpectSameMaps(without, Compose(fewer));
  for (size_t i = 0; i < statistics_.size(); ++i) EXPECT_LT(without->cells(i), all->cells(i));
  ExpectSameMaps(Compose(tiles_, without.get()), all);
  const auto none = Compose({}, all.get());
  for (size_t i = 0; i < statistics_.size(); ++i) EXPECT_EQ(none->cells(i), 0u);
  ExpectSameMaps(Compose(tiles_, none.get()), all);
}

// Tiles come, go and are replaced, in twos and threes, also all over the map at once.
TEST_P(ComposeTest, RandomSuccessorsEqualFreshMaps) {
  std::vector<Tiles> variants = {tiles_};
  for (const float up : {0.3F, 40.0F}) {
    std::vector<PointCloud> moved = clouds_;
    for (PointCloud& cloud : moved) {
      for (float& z : cloud.z) z += up;
    }
    variants.push_back(BuildTiles(moved));
  }
  RandomNumbers random(17);
  std::vector<int> choice(clouds_.size(), 0);  // -1: not there
  auto map = Compose(tiles_);
  for (int round = 0; round < 25; ++round) {
    SCOPED_TRACE(round);
    const int changes = 1 + random.Index(3);
    for (int i = 0; i < changes; ++i) {
      choice[static_cast<size_t>(random.Index(static_cast<int>(choice.size())))] =
          random.Index(4) - 1;
    }
    choice[0] = 0;  // what the alignments are in
    Tiles tiles;
    for (size_t i = 0; i < choice.size(); ++i) {
      if (choice[i] >= 0) tiles.push_back(variants[static_cast<size_t>(choice[i])][i]);
    }
    map = Compose(tiles, map.get());
    ExpectSameMaps(map, Compose(tiles));
    if (HasFailure()) return;
  }
}

TEST_P(ComposeTest, ASuccessorOutlivesItsPredecessorAndItsTiles) {
  auto first = Compose(tiles_);
  Tiles fewer(tiles_.begin() + 1, tiles_.end());
  const auto second = Compose(fewer, first.get());
  const std::string expected = AlignedBits(second);
  first.reset();
  tiles_.clear();
  fewer.clear();
  // The memory that they held is used again.
  const auto other = Compose(BuildTiles(clouds_));
  EXPECT_TRUE(AlignedBits(second) == expected);
}

// An alignment holds its map: the last owner may be a job that is running.
TEST_P(ComposeTest, AMapGivenAwayIsStillAlignedIn) {
  std::vector<AlignJob> jobs(100, SceneJob(PreciseProfile()));
  auto map = Compose(tiles_);
  const std::string expected = AlignedBits(map);
  for (AlignJob& job : jobs) job.map = map;
  map.reset();
  for (const AlignResult& result : engine().Align(jobs)) {
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.05);
  }
  jobs.clear();
  EXPECT_TRUE(AlignedBits(Compose(BuildTiles(clouds_))) == expected);
}

TEST_P(ComposeTest, OtherStatisticsThanThePredecessorsAreComposedAfresh) {
  const auto first = Compose(tiles_, nullptr, {statistics_[0]});
  ExpectSameMaps(Compose(tiles_, first.get()), Compose(tiles_));
}

TEST_P(ComposeTest, CellsInABoxAreThoseWhoseMeanLiesInIt) {
  const auto map = Compose(tiles_);
  const Eigen::Vector3d min(-10.0, -5.0, -1.0);
  const Eigen::Vector3d max(5.0, 12.0, 2.0);
  size_t expected = 0;
  for (const MapCell& cell : AllCells(*map, statistics_[0])) {
    expected += (cell.mean.array() >= min.array()).all() && (cell.mean.array() <= max.array()).all()
                    ? 1
                    : 0;
  }
  const auto cells = map->CellsInBox(0, min, max, expected);
  ASSERT_TRUE(cells.ok()) << cells.status();
  EXPECT_EQ(cells->size(), expected);
  EXPECT_GT(expected, 10u);
  const auto too_many = map->CellsInBox(0, min, max, expected - 1);
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kResourceExhausted);
  // A mean and an information matrix in float32, at the least.
  EXPECT_GT(map->MemoryBytes(), map->cells(0) * 9 * sizeof(float));
}

TEST_P(ComposeTest, StatisticsThatMakeNoSenseAreRefused) {
  PointCloud cloud;
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  EXPECT_THAT(std::string(engine().BuildTile(cloud, {}).status().message()),
              HasSubstr("at least one cell statistics"));
  std::vector<CellStatistics> statistics(1);
  statistics[0].cell_size_m = -1.0;
  const absl::Status expected = ValidateCellStatistics(statistics[0]);
  EXPECT_EQ(engine().BuildTile(cloud, statistics).status(), expected);
  EXPECT_EQ(engine().Compose({}, statistics, nullptr).status(), expected);
}

TEST_P(ComposeTest, TilesThatDoNotFitAreRefused) {
  const auto refused = [&](const Tiles& tiles, const std::vector<CellStatistics>& statistics) {
    const auto map = engine().Compose(tiles, statistics, nullptr);
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(map.status().message());
  };
  EXPECT_THAT(refused({std::make_shared<StubTile>()}, statistics_), HasSubstr("belong"));
  EXPECT_THAT(refused({nullptr}, statistics_), HasSubstr("belong"));
  CellStatistics other;
  other.cell_size_m = 7.0;
  EXPECT_THAT(refused(tiles_, {other}), HasSubstr("without a lattice of 7 m"));
  other.cell_size_m = -7.0;
  EXPECT_THAT(refused(tiles_, {other}), HasSubstr("cell size"));
  EXPECT_THAT(refused({}, {other}), HasSubstr("cell size"));
}

}  // namespace
}  // namespace voxloc
