// SPDX-License-Identifier: Apache-2.0
//
// Grids composed from a predecessor against grids composed from nothing, to the bit, and what they
// share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/engine/cpu/gaussian_grid.h"
#include "core/parallel/thread_pool.h"
#include "tests/support/composed_cells.h"
#include "tests/support/gaussians_in.h"
#include "tests/support/random_numbers.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::cpu {
namespace {

using Lattices = std::vector<const TileMoments*>;

CellStatistics Merged(double size) {
  CellStatistics statistics;
  statistics.cell_size_m = size;
  return statistics;
}

CellStatistics FloatIndexed(double size) {
  CellStatistics statistics = Merged(size);
  statistics.merge_tiles = false;
  statistics.float_index = true;
  return statistics;
}

const Eigen::Vector3d kEverywhere = Eigen::Vector3d::Constant(HUGE_VAL);

std::map<CellKey, const GaussianBlock*> BlocksOf(const GaussianGrid& grid) {
  const auto list = grid.BlocksMeeting(-kEverywhere, kEverywhere);
  return {list.begin(), list.end()};
}

// Tiles of the scene, each as it is, lifted, and moved to where others are. With `far`, points have
// float32 map coordinates in which running means lie decimetres off, in other cells and blocks than
// their points.
class TileVariants {
 public:
  TileVariants(double cell_size_m, bool far) {
    const Eigen::Vector3f offset =
        far ? Eigen::Vector3f(400003.0F, 4000009.0F, 0.0F) : Eigen::Vector3f::Zero();
    for (const PointCloud& tile : CutIntoTiles(SceneMap(), 5, 2, {-31.0, -31.0}, {12.4, 31.0})) {
      for (const Eigen::Vector3f& by :
           {Eigen::Vector3f(0, 0, 0), Eigen::Vector3f(0.3F, -0.2F, 17.5F),
            Eigen::Vector3f(-21.0F, 30.0F, -40.0F)}) {
        PointCloud cloud = tile;
        for (size_t i = 0; i < cloud.size(); ++i) {
          cloud.x[i] += by.x() + offset.x();
          cloud.y[i] += by.y() + offset.y();
          cloud.z[i] += by.z() + offset.z();
        }
        tiles_.push_back(std::make_unique<TileMoments>(*BuildTileMoments(cloud, cell_size_m)));
      }
    }
  }
  [[nodiscard]] size_t places() const { return tiles_.size() / 3; }
  [[nodiscard]] const TileMoments* At(size_t place, size_t variant) const {
    return tiles_[3 * place + variant].get();
  }

 private:
  std::vector<std::unique_ptr<TileMoments>> tiles_;
};

// What makes `now` from the grid of `before`, by comparing them in full.
GridChange Compare(const GaussianGrid& grid, const Lattices& before, const Lattices& now) {
  GridChange change{grid, {}, {}};
  for (const TileMoments* tile : before) {
    if (std::count(now.begin(), now.end(), tile) == 0) change.removed.push_back(tile);
  }
  for (size_t i = 0; i < now.size(); ++i) {
    if (std::count(before.begin(), before.end(), now[i]) == 0) change.added.push_back(i);
  }
  return change;
}

void ExpectSameGrids(const GaussianGrid& a, const GaussianGrid& b) {
  EXPECT_EQ(a.size(), b.size());
  std::set<CellKey> keys;
  for (const auto& [key, block] : BlocksOf(a)) keys.insert(key);
  for (const auto& [key, block] : BlocksOf(b)) keys.insert(key);
  std::set<CellKey> around = keys;
  for (const CellKey& key : keys) {
    for (const GaussianGrid* grid : {&a, &b}) {
      const GaussianBlock* const block = grid->Find(key);
      if (block != nullptr) around.insert(block->spill_targets.begin(), block->spill_targets.end());
    }
  }
  for (const CellKey& key : around) {
    SCOPED_TRACE(testing::Message() << key.x << " " << key.y << " " << key.z);
    const GaussianBlock* const in_a = a.Find(key);
    const GaussianBlock* const in_b = b.Find(key);
    ASSERT_EQ(in_a == nullptr, in_b == nullptr);
    if (in_a == nullptr) continue;
    ASSERT_TRUE(in_a->sources == in_b->sources);
    ASSERT_TRUE(in_a->spill_targets == in_b->spill_targets);
    ASSERT_TRUE(in_a->spill_sources == in_b->spill_sources);
    ASSERT_EQ(in_a->begins, in_b->begins);
    ASSERT_EQ(in_a->records.size(), in_b->records.size());
    for (size_t i = 0; i < in_a->records.size(); ++i) {
      ASSERT_EQ(std::memcmp(&in_a->records[i], &in_b->records[i], sizeof(GaussianRecord)), 0);
    }
  }
}

// Every cell of the map is found, and where its index is.
void ExpectCellsOf(const GaussianGrid& grid, const Lattices& tiles,
                   const CellStatistics& statistics) {
  const std::vector<MapCell> cells = AllCellsOf(tiles, statistics);
  EXPECT_EQ(grid.size(), cells.size());
  std::map<CellKey, std::vector<const MapCell*>> by_index;
  for (const MapCell& cell : cells) {
    by_index[CellOf(cell.index, statistics.cell_size_m)].push_back(&cell);
  }
  for (const auto& [key, expected] : by_index) {
    const auto run = GaussiansIn(grid, key);
    ASSERT_EQ(run.size(), expected.size());
    const Eigen::Vector3d corner = CellCorner(key, statistics.cell_size_m);
    for (size_t i = 0; i < run.size(); ++i) {
      ASSERT_EQ(run[i].information[0], static_cast<float>(expected[i]->information.xx));
      ASSERT_EQ(run[i].mean[1], static_cast<float>(expected[i]->mean.y() - corner.y()));
      ASSERT_EQ(run[i].index[2], static_cast<float>(expected[i]->index.z() - corner.z()));
    }
  }
}

// Tiles come, go, are replaced and come back, one or several at a time.
void ExpectSuccessorsAsFromNothing(const CellStatistics& statistics, bool far, uint64_t seed) {
  const TileVariants variants(statistics.cell_size_m, far);
  RandomNumbers random(seed);
  ThreadPool pool(3);
  std::vector<int> choice(variants.places(), 0);  // -1: not there
  const auto tiles_of = [&] {
    Lattices tiles;
    for (size_t place = 0; place < choice.size(); ++place) {
      if (choice[place] >= 0) {
        tiles.push_back(variants.At(place, static_cast<size_t>(choice[place])));
      }
    }
    return tiles;
  };
  Lattices tiles = tiles_of();
  GaussianGrid grid = ComposeGrid(tiles, statistics, nullptr, &pool);
  ExpectCellsOf(grid, tiles, statistics);
  size_t strays = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const int changes = 1 + random.Index(3);
    for (int i = 0; i < changes; ++i) {
      choice[static_cast<size_t>(random.Index(static_cast<int>(choice.size())))] =
          random.Index(4) - 1;
    }
    const Lattices now = tiles_of();
    const GridChange change = Compare(grid, tiles, now);
    GaussianGrid next = ComposeGrid(now, statistics, &change, round % 2 == 0 ? &pool : nullptr);
    const GaussianGrid anew = ComposeGrid(now, statistics, nullptr, nullptr);
    ExpectSameGrids(next, anew);
    EXPECT_EQ(next.MemoryBytes() > 0, !now.empty());
    if (round % 10 == 0) ExpectCellsOf(next, now, statistics);
    if (testing::Test::HasFatalFailure()) return;
    for (const auto& [key, block] : BlocksOf(next)) strays += block->spill_sources.size();
    grid = std::move(next);
    tiles = now;
  }
  EXPECT_GE(strays, far ? 1u : 0u);
}

TEST(GridComposerTest, SuccessorsEqualGridsFromNothing) {
  ExpectSuccessorsAsFromNothing(Merged(0.5), false, 1);
  ExpectSuccessorsAsFromNothing(Merged(4.0), false, 2);
  ExpectSuccessorsAsFromNothing(FloatIndexed(2.0), false, 3);
}

TEST(GridComposerTest, SuccessorsEqualGridsFromNothingWhereFloatIndicesStray) {
  ExpectSuccessorsAsFromNothing(FloatIndexed(0.5), true, 4);
  ExpectSuccessorsAsFromNothing(FloatIndexed(2.0), true, 5);
}

TEST(GridComposerTest, BlocksWithoutAChangedTileAreShared) {
  const TileVariants variants(0.5, false);
  Lattices tiles;
  for (size_t place = 0; place < variants.places(); ++place) tiles.push_back(variants.At(place, 0));
  const CellStatistics statistics = Merged(0.5);
  const GaussianGrid before = ComposeGrid(tiles, statistics, nullptr, nullptr);
  Lattices now = tiles;
  now[4] = variants.At(4, 1);
  const GridChange change = Compare(before, tiles, now);
  const GaussianGrid after = ComposeGrid(now, statistics, &change, nullptr);
  size_t shared = 0;
  size_t anew = 0;
  for (const auto& [key, block] : BlocksOf(after)) {
    const GaussianBlock* const old = before.Find(key);
    const auto touches = [](const GaussianBlock* b, const TileMoments* tile) {
      return b != nullptr && std::any_of(b->sources.begin(), b->sources.end(),
                                         [&](const CellSource& s) { return s.tile == tile; });
    };
    const bool touched = touches(old, tiles[4]) || touches(block, now[4]);
    EXPECT_EQ(block == old, !touched);
    (touched ? anew : shared) += 1;
  }
  EXPECT_GT(shared, anew);
  EXPECT_GT(anew, 0u);
}

TEST(GridComposerTest, ATileThatIsThereTwiceCountsTwice) {
  const TileVariants variants(2.0, false);
  const CellStatistics statistics = Merged(2.0);
  const Lattices tiles = {variants.At(0, 0), variants.At(1, 0), variants.At(0, 0)};
  const GaussianGrid twice = ComposeGrid(tiles, statistics, nullptr, nullptr);
  ExpectCellsOf(twice, tiles, statistics);
  const Lattices now = {variants.At(0, 0), variants.At(1, 1), variants.At(0, 0)};
  const GridChange change = Compare(twice, tiles, now);
  ExpectSameGrids(ComposeGrid(now, statistics, &change, nullptr),
                  ComposeGrid(now, statistics, nullptr, nullptr));
}

}  // namespace
}  // namespace voxloc::cpu
