// SPDX-License-Identifier: Apache-2.0
//
// The grid of cells and the lists of neighbours, against a search through all cells.

#include "core/engine/cpu/neighborhood_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/cpu/gaussian_grid.h"
#include "tests/support/random_numbers.h"

namespace voxloc::cpu {
namespace {

// Cells at random places around zero, several to a lattice cell.
std::vector<MapCell> RandomCells(const CellStatistics& statistics, int count, double reach,
                                 uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<MapCell> cells;
  for (int i = 0; i < count; ++i) {
    MapCell cell;
    cell.mean = random.InBox(reach);
    cell.mean.z() *= 0.2;
    cell.key = CellOf(cell.mean, statistics.cell_size_m);
    cell.index = cell.mean + random.InBox(0.2 * statistics.cell_size_m);
    cell.information.xx = static_cast<double>(i);  // tells the cells apart
    cells.push_back(cell);
  }
  return cells;
}

GaussianGrid ParseMgrsGrid(const std::vector<MapCell>& cells, const CellStatistics& statistics) {
  std::set<CellKey> blocks;
  for (const MapCell& cell : cells) {
    blocks.insert(BlockOf(CellOf(cell.index, statistics.cell_size_m)));
  }
  std::vector<GaussianGrid::Blocks::Change> changes;
  for (const CellKey& key : blocks) {
    auto block = std::make_shared<GaussianBlock>();
    (void)PlaceGaussians(key, cells, statistics.cell_size_m, *block);
    changes.push_back({key, std::move(block)});
  }
  return GaussianGrid(statistics.cell_size_m).With(std::move(changes));
}

// Sizes of steps along the axes from one lattice cell to another, if none is over one.
bool IsNeighbor(const CellKey& from, const CellKey& to, NeighborSearch search) {
  const int dx = std::abs(to.x - from.x);
  const int dy = std::abs(to.y - from.y);
  const int dz = std::abs(to.z - from.z);
  switch (search) {
    case NeighborSearch::kRadius:
      return std::max({dx, dy, dz}) <= 1;
    case NeighborSearch::kDirect7:
      return dx + dy + dz <= 1;
    case NeighborSearch::kDirect1:
      return dx + dy + dz == 0;
  }
  return false;
}

// Whether the cell's index position is within the radius of some place of the lattice cell. None of
// the random cells lies so near the border that float32 cannot tell.
bool MayMatch(const CellKey& key, const MapCell& cell, double size, NeighborSearch search) {
  if (search != NeighborSearch::kRadius) return true;
  const Eigen::Vector3d low = CellCorner(key, size);
  const Eigen::Vector3d nearest =
      cell.index.cwiseMax(low).cwiseMin(low + Eigen::Vector3d::Constant(size));
  const double share = (cell.index - nearest).squaredNorm() / (size * size);
  EXPECT_GT(std::abs(share - 1.0), 3e-5);
  return share < 1.0;
}

std::vector<CellKey> Queries(double reach_cells, uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<CellKey> keys = {{0, 0, 0}, {-1, -1, -1}, {7, 7, 0}, {8, 8, 0}, {-8, -9, -1}};
  for (int i = 0; i < 400; ++i) {
    const Eigen::Vector3d at = random.InBox(reach_cells);
    keys.push_back({static_cast<int32_t>(std::floor(at.x())),
                    static_cast<int32_t>(std::floor(at.y())),
                    static_cast<int32_t>(std::floor(0.2 * at.z()))});
  }
  // Beyond everything.
  keys.push_back({1 << 28, -(1 << 28), 1 << 28});
  keys.push_back({-(1 << 28), 1 << 28, 0});
  return keys;
}

TEST(NeighborhoodCacheTest, ListsHoldTheCellsOfASearchThroughAll) {
  for (const double size : {0.5, 2.0}) {
    CellStatistics statistics;
    statistics.cell_size_m = size;
    const std::vector<MapCell> cells = RandomCells(statistics, 3000, 12.0 * size, 71);
    const GaussianGrid grid = ParseMgrsGrid(cells, statistics);
    EXPECT_EQ(grid.size(), cells.size());
    NeighborhoodCache cache;
    for (const NeighborSearch search :
         {NeighborSearch::kRadius, NeighborSearch::kDirect7, NeighborSearch::kDirect1}) {
      cache.Use(grid, search);
      for (const CellKey& key : Queries(14.0, 72)) {
        std::vector<size_t> expected;
        for (const MapCell& cell : cells) {
          if (IsNeighbor(key, CellOf(cell.index, size), search) &&
              MayMatch(key, cell, size, search)) {
            expected.push_back(static_cast<size_t>(cell.information.xx));
          }
        }
        const NeighborhoodCache::List list = cache.Find(key);
        const CandidateArrays arrays = cache.arrays();
        const Eigen::Vector3d corner = CellCorner(key, size);
        std::vector<size_t> found;
        for (uint32_t at = list.begin; at < list.begin + list.count; ++at) {
          const auto id = static_cast<size_t>(arrays.cells[at].record->information[0]);
          found.push_back(id);
          const auto cell = std::find_if(cells.begin(), cells.end(), [&](const MapCell& c) {
            return static_cast<size_t>(c.information.xx) == id;
          });
          ASSERT_NE(cell, cells.end());
          const Eigen::Vector3d index = cell->index - corner;
          const Eigen::Vector3d mean = cell->mean - corner;
          EXPECT_NEAR(static_cast<double>(arrays.index_x[at]), index.x(), 1e-6 * size);
          EXPECT_NEAR(static_cast<double>(arrays.index_y[at]), index.y(), 1e-6 * size);
          EXPECT_NEAR(static_cast<double>(arrays.index_z[at]), index.z(), 1e-6 * size);
          for (int axis = 0; axis < 3; ++axis) {
            EXPECT_NEAR(static_cast<double>(arrays.cells[at].mean[axis]), mean[axis], 1e-6 * size);
          }
        }
        std::sort(expected.begin(), expected.end());
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected);
        // A second look gives the same list.
        const NeighborhoodCache::List again = cache.Find(key);
        EXPECT_EQ(again.begin, list.begin);
        EXPECT_EQ(again.count, list.count);
      }
      EXPECT_GT(cache.size(), 0u);
    }
  }
}

TEST(NeighborhoodCacheTest, ListsStayForTheSameGridAndSearchOnly) {
  CellStatistics statistics;
  const GaussianGrid grid = ParseMgrsGrid(RandomCells(statistics, 500, 10.0, 73), statistics);
  const GaussianGrid copy = grid;
  const GaussianGrid empty(statistics.cell_size_m);
  EXPECT_EQ(empty.size(), 0u);
  NeighborhoodCache cache;
  cache.Use(grid, NeighborSearch::kRadius);
  const uint64_t generation = cache.generation();
  EXPECT_GT(cache.Find({0, 0, 0}).count, 0u);
  const uint32_t held = cache.size();
  EXPECT_GT(held, 0u);
  cache.Use(copy, NeighborSearch::kRadius);
  EXPECT_EQ(cache.generation(), generation);
  EXPECT_GT(cache.Find({0, 0, 0}).count, 0u);
  EXPECT_EQ(cache.size(), held) << "found again, not made again";

  cache.Use(copy, NeighborSearch::kDirect1);
  EXPECT_NE(cache.generation(), generation);
  EXPECT_EQ(cache.size(), 0u);
  cache.Use(grid, NeighborSearch::kRadius);
  EXPECT_GT(cache.Find({0, 0, 0}).count, 0u);
  const uint64_t later = cache.generation();
  cache.Use(empty, NeighborSearch::kRadius);
  EXPECT_NE(cache.generation(), later);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.Find({0, 0, 0}).count, 0u);
  // Its content is the same as the grid's was, but it is another one.
  const GaussianGrid successor = grid.With({});
  cache.Use(grid, NeighborSearch::kRadius);
  const uint64_t last = cache.generation();
  cache.Use(successor, NeighborSearch::kRadius);
  EXPECT_NE(cache.generation(), last);
  EXPECT_GT(cache.Find({0, 0, 0}).count, 0u);
}

TEST(NeighborhoodCacheTest, TooManyCandidatesAreForgotten) {
  CellStatistics statistics;
  const GaussianGrid grid = ParseMgrsGrid(RandomCells(statistics, 3000, 10.0, 74), statistics);
  NeighborhoodCache cache;
  cache.Use(grid, NeighborSearch::kRadius);
  for (const CellKey& key : Queries(6.0, 75)) (void)cache.Find(key);
  const uint32_t held = cache.size();
  std::set<CellKey> lists;
  for (const CellKey& key : Queries(6.0, 75)) lists.insert(key);
  const size_t all = held + lists.size();
  const uint64_t generation = cache.generation();
  cache.ClearIfLarger(all);
  EXPECT_EQ(cache.size(), held);
  EXPECT_EQ(cache.generation(), generation);
  for (const size_t limit : {all - 1, size_t{1}}) {
    cache.ClearIfLarger(limit);
    EXPECT_EQ(cache.size(), 0u);
    EXPECT_NE(cache.generation(), generation);
    for (const CellKey& key : Queries(6.0, 75)) (void)cache.Find(key);
    EXPECT_EQ(cache.size(), held);
  }
}

// A vehicle far from the map meets new lattice cells with every scan.
TEST(NeighborhoodCacheTest, ListsWithoutACandidateCountToo) {
  const GaussianGrid empty(2.0);
  NeighborhoodCache cache;
  cache.Use(empty, NeighborSearch::kRadius);
  for (int32_t i = 0; i < 100; ++i) EXPECT_EQ(cache.Find({i, 0, 0}).count, 0U);
  const uint64_t generation = cache.generation();
  cache.ClearIfLarger(100);
  EXPECT_EQ(cache.generation(), generation);
  cache.ClearIfLarger(99);
  EXPECT_NE(cache.generation(), generation);
}

}  // namespace
}  // namespace voxloc::cpu
