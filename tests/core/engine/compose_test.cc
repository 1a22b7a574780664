// SPDX-License-Identifier: Apache-2.0
//
// Maps out of tiles: successors share with their predecessor and equal what is composed afresh.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/engine_scene.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using Tiles = std::vector<std::shared_ptr<const ResidentTile>>;

Tiles BuildTiles(Engine& engine, const std::vector<PointCloud>& clouds,
                 const std::vector<CellStatistics>& statistics) {
  Tiles tiles;
  for (const PointCloud& cloud : clouds) {
    auto tile = engine.BuildTile(cloud, statistics);
    EXPECT_TRUE(tile.ok()) << tile.status();
    tiles.push_back(*tile);
    EXPECT_EQ(tiles.back()->points(), cloud.size());
    EXPECT_EQ(tiles.back()->not_finite(), 0u);
    EXPECT_GT(tiles.back()->cells(), 0u);
    EXPECT_GT(tiles.back()->MemoryBytes(), tiles.back()->cells());
  }
  return tiles;
}

std::shared_ptr<const ResidentMap> Compose(Engine& engine, const Tiles& tiles,
                                           const std::vector<CellStatistics>& statistics,
                                           const ResidentMap* previous = nullptr) {
  auto map = engine.Compose(tiles, statistics, previous);
  EXPECT_TRUE(map.ok()) << map.status();
  return *map;
}

void ExpectSameMaps(const ResidentMap& a, const ResidentMap& b) {
  ASSERT_EQ(a.statistics().size(), b.statistics().size());
  for (const CellStatistics& statistics : a.statistics()) {
    const std::vector<MapCell> cells_a = AllCells(a, statistics);
    const std::vector<MapCell> cells_b = AllCells(b, statistics);
    ASSERT_EQ(cells_a.size(), cells_b.size());
    for (size_t i = 0; i < cells_a.size(); ++i) {
      EXPECT_TRUE(cells_a[i].key == cells_b[i].key);
      EXPECT_EQ(cells_a[i].count, cells_b[i].count);
      EXPECT_EQ(cells_a[i].mean, cells_b[i].mean);
      EXPECT_EQ(cells_a[i].index, cells_b[i].index);
      EXPECT_EQ(reference::ToEigen(cells_a[i].information),
                reference::ToEigen(cells_b[i].information));
    }
  }
  // And they align alike, to the bit.
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
  const auto engine = MakeCpuEngine({1});
  job.map = {std::shared_ptr<void>(), &a};
  const AlignResult result_a = AlignOne(*engine, job);
  job.map = {std::shared_ptr<void>(), &b};
  const AlignResult result_b = AlignOne(*engine, job);
  EXPECT_EQ(result_a.map_T_base.translation, result_b.map_T_base.translation);
  EXPECT_EQ(result_a.hessian, result_b.hessian);
}

class ComposeTest : public ::testing::Test {
 protected:
  ComposeTest()
      : engine_(MakeCpuEngine({2})),
        statistics_(AllStatistics()),
        clouds_(CutIntoTiles(SceneMap(), 5, 2, {-31.0, -31.0}, {12.4, 31.0})),
        tiles_(BuildTiles(*engine_, clouds_, statistics_)) {}

  std::unique_ptr<Engine> engine_;
  std::vector<CellStatistics> statistics_;
  std::vector<PointCloud> clouds_;
  Tiles tiles_;
};

TEST_F(ComposeTest, ASuccessorWithAReplacedTileEqualsAFreshMap) {
  const auto first = Compose(*engine_, tiles_, statistics_);
  PointCloud moved = clouds_[4];
  for (float& z : moved.z) z += 0.3F;
  Tiles replaced = tiles_;
  replaced[4] = BuildTiles(*engine_, {moved}, statistics_)[0];
  const auto successor = Compose(*engine_, replaced, statistics_, first.get());
  ExpectSameMaps(*successor, *Compose(*engine_, replaced, statistics_));
  // And back again.
  ExpectSameMaps(*Compose(*engine_, tiles_, statistics_, successor.get()), *first);
}

TEST_F(ComposeTest, TilesComeAndGo) {
  const auto all = Compose(*engine_, tiles_, statistics_);
  Tiles fewer = tiles_;
  fewer.erase(fewer.begin() + 2, fewer.begin() + 5);
  const auto without = Compose(*engine_, fewer, statistics_, all.get());
  ExpectSameMaps(*without, *Compose(*engine_, fewer, statistics_));
  for (size_t i = 0; i < statistics_.size(); ++i) EXPECT_LT(without->cells(i), all->cells(i));
  ExpectSameMaps(*Compose(*engine_, tiles_, statistics_, without.get()), *all);
  const auto none = Compose(*engine_, {}, statistics_, all.get());
  for (size_t i = 0; i < statistics_.size(); ++i) EXPECT_EQ(none->cells(i), 0u);
}

TEST_F(ComposeTest, ASuccessorOutlivesItsPredecessorAndItsTiles) {
  auto first = Compose(*engine_, tiles_, statistics_);
  Tiles fewer(tiles_.begin() + 1, tiles_.end());
  auto second = Compose(*engine_, fewer, statistics_, first.get());
  first.reset();
  tiles_.clear();
  fewer.clear();
  AlignJob job = SceneJob(PreciseProfile());
  job.map = second;
  second.reset();
  const AlignResult result = AlignOne(*engine_, job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_GT(result.after.matched_points, 0u);
}

TEST_F(ComposeTest, OtherStatisticsThanThePredecessorsAreComposedAfresh) {
  const auto first = Compose(*engine_, tiles_, {statistics_[0]});
  const auto second = Compose(*engine_, tiles_, statistics_, first.get());
  ExpectSameMaps(*second, *Compose(*engine_, tiles_, statistics_));
}

TEST_F(ComposeTest, CellsInABoxAreThoseWhoseMeanLiesInIt) {
  const auto map = Compose(*engine_, tiles_, statistics_);
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
  EXPECT_GT(map->MemoryBytes(), map->cells(0) * sizeof(MapCell));
}

TEST_F(ComposeTest, TilesThatDoNotFitAreRefused) {
  class ForeignTile : public ResidentTile {
   public:
    size_t points() const override { return 0; }
    size_t not_finite() const override { return 0; }
    size_t cells() const override { return 0; }
    size_t MemoryBytes() const override { return 0; }
  };
  const auto refused = [&](const Tiles& tiles, const std::vector<CellStatistics>& statistics) {
    const auto map = engine_->Compose(tiles, statistics, nullptr);
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(map.status().message());
  };
  EXPECT_THAT(refused({std::make_shared<ForeignTile>()}, statistics_), HasSubstr("belong"));
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
