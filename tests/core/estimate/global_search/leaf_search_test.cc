// SPDX-License-Identifier: Apache-2.0
//
// Leaves found by branch and bound are those of looking everywhere.

#include "core/estimate/global_search/leaf_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tests/core/estimate/global_search/deadline_engine.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_bounds.h"

namespace voxloc {
namespace {

struct Everything {
  SearchGrid grid;
  LeafSearchJob job;
  std::vector<uint64_t> columns;
  BoundGridShape shape;
};

// A random grid and a random scan; the whole of the grid that the scan's reach allows is searched.
std::unique_ptr<Everything> MakeSearch(Engine& engine, uint64_t seed, double occupied_share,
                                       int32_t columns_x = 64, int32_t columns_y = 60) {
  RandomNumbers random(seed);
  RandomBoundsOptions options;
  options.shape.columns_x = columns_x;
  options.shape.columns_y = columns_y;
  options.shape.shifts = {0, 1, 2};
  options.shape.tolerances = {0, 2};
  options.occupied_share = occupied_share;
  options.points = 40;
  options.headings = 7;
  auto all = std::make_unique<Everything>();
  all->shape = options.shape;
  all->columns = RandomColumns(options, random);
  auto grid = BoundGrid::Make(options.shape, all->columns);
  EXPECT_TRUE(grid.ok()) << grid.status();
  all->grid.resident = *engine.LoadBoundGrid(*std::move(grid));
  all->grid.begin = {16, 16};
  all->grid.end = {columns_x - 17, columns_y - 17};
  all->grid.z_levels = 60;
  all->job.grid = &all->grid;
  all->job.scan = RandomScan(options, random);
  all->job.headings.count = options.headings;
  all->job.begin = all->grid.begin;
  all->job.end = all->grid.end;
  all->job.end_z = all->grid.z_levels;
  return all;
}

// The hits of every leaf of the area, one voxel at a time, most first.
std::vector<Leaf> LookEverywhere(const Everything& all) {
  std::vector<Leaf> leaves;
  for (uint32_t heading = 0; heading < all.job.headings.count; ++heading) {
    for (int32_t y = all.job.begin.y(); y < all.job.end.y(); ++y) {
      for (int32_t x = all.job.begin.x(); x < all.job.end.x(); ++x) {
        Leaf best;
        for (int32_t z = all.job.begin_z; z < all.job.end_z; ++z) {
          const uint32_t hits = CountHits(all.shape, all.columns, *all.job.scan, heading, x, y, z);
          if (hits > best.hits) best = {heading, x, y, z, hits};
        }
        leaves.push_back(best);
      }
    }
  }
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const Leaf& a, const Leaf& b) { return a.hits > b.hits; });
  return leaves;
}

bool Near(const Leaf& a, const Leaf& b, const LeafSearchOptions& options) {
  const auto apart = std::abs(static_cast<int32_t>(a.heading) - static_cast<int32_t>(b.heading));
  return std::abs(a.x - b.x) < options.min_separation_columns &&
         std::abs(a.y - b.y) < options.min_separation_columns &&
         apart < options.min_separation_headings;
}

class LeafSearchTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(LeafSearchTest);

TEST_P(LeafSearchTest, PassesNoGoodLeafOver) {
  for (const double occupied_share : {0.05, 0.2}) {
    for (const uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(seed);
      const auto all = MakeSearch(engine(), seed, occupied_share);
      LeafSearchOptions options;
      options.min_share = 0.1;
      options.min_separation_headings = 2;
      const auto found = SearchLeaves(engine(), all->job, options, nullptr);
      ASSERT_TRUE(found.ok()) << found.status();
      const std::vector<Leaf> expected = LookEverywhere(*all);
      ASSERT_FALSE(found->leaves.empty());
      const Leaf& best = found->leaves.front();
      EXPECT_EQ(best.hits, expected.front().hits);
      EXPECT_EQ(best.z, expected.front().z);
      for (const Leaf& leaf : expected) {
        if (leaf.hits < options.complete_share * best.hits) break;
        EXPECT_TRUE(std::any_of(found->leaves.begin(), found->leaves.end(),
                                [&](const Leaf& known) {
                                  return known.hits >= leaf.hits && Near(known, leaf, options);
                                }))
            << "heading " << leaf.heading << " x " << leaf.x << " y " << leaf.y << " hits "
            << leaf.hits;
      }
      for (size_t i = 1; i < found->leaves.size(); ++i) {
        EXPECT_GE(found->leaves[i - 1].hits, found->leaves[i].hits);
        EXPECT_EQ(found->leaves[i].hits,
                  CountHits(all->shape, all->columns, *all->job.scan, found->leaves[i].heading,
                            found->leaves[i].x, found->leaves[i].y, found->leaves[i].z));
      }
    }
  }
}

// So many coarse nodes that the first ones alone decide how far down a last pass must go.
TEST_P(LeafSearchTest, PassesNoGoodLeafOverInALargeArea) {
  const auto all = MakeSearch(engine(), 11, 0.1, 512, 512);
  LeafSearchOptions options;
  options.min_share = 0.1;
  options.max_leaves = 4096;
  options.min_separation_columns = 1;
  options.min_separation_headings = 1;
  const auto found = SearchLeaves(engine(), all->job, options, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->leaves.empty());
  const uint32_t best = found->leaves.front().hits;
  ASSERT_LT(best, 0.72 * static_cast<double>(all->job.scan->points_per_heading));
  const auto least = static_cast<uint32_t>(std::ceil(options.complete_share * best));

  BoundRequest everywhere;
  everywhere.grid = all->grid.resident;
  everywhere.scan = all->job.scan;
  const Eigen::Vector2i size = all->job.end - all->job.begin;
  everywhere.nodes_x = size.x();
  everywhere.nodes_y = size.y();
  for (uint32_t heading = 0; heading < all->job.headings.count; ++heading) {
    everywhere.blocks.push_back({heading, all->job.begin.x(), all->job.begin.y()});
  }
  everywhere.allowed_z = {(uint64_t{1} << all->job.end_z) - 1};
  everywhere.min_hits = least;
  const auto expected = engine().Bound(everywhere);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto told = std::count_if(found->leaves.begin(), found->leaves.end(),
                                  [&](const Leaf& leaf) { return leaf.hits >= least; });
  EXPECT_EQ(static_cast<size_t>(told), expected->size());
  for (const BoundHit& hit : *expected) EXPECT_LE(hit.hits, best);
}

TEST_P(LeafSearchTest, StaysInItsAreaAndAtItsHeights) {
  const auto all = MakeSearch(engine(), 5, 0.2);
  all->job.begin = {21, 18};
  all->job.end = {26, 31};
  all->job.begin_z = 20;
  all->job.end_z = 33;
  LeafSearchOptions options;
  options.min_share = 0.1;
  options.min_separation_columns = 1;
  options.min_separation_headings = 1;
  const auto found = SearchLeaves(engine(), all->job, options, nullptr);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->leaves.front().hits, LookEverywhere(*all).front().hits);
  for (const Leaf& leaf : found->leaves) {
    EXPECT_TRUE(leaf.x >= 21 && leaf.x < 26 && leaf.y >= 18 && leaf.y < 31);
    EXPECT_TRUE(leaf.z >= 20 && leaf.z < 33);
  }
}

TEST_P(LeafSearchTest, AtADeadlineOnTheWayItHasTheLeavesFoundUntilThen) {
  DeadlineEngine unhurried(engine());
  const auto all = MakeSearch(unhurried, 7, 0.1);
  // Whole windows of the coarsest level, so that no leaf that is told lies beside the area.
  all->job.end = {44, 40};
  LeafSearchOptions options;
  options.min_share = 0.1;
  const auto complete = SearchLeaves(unhurried, all->job, options, nullptr);
  ASSERT_TRUE(complete.ok()) << complete.status();
  EXPECT_FALSE(complete->timed_out);
  size_t with_leaves = 0;
  for (size_t in_time = 0; in_time < unhurried.bounds; ++in_time) {
    SCOPED_TRACE(in_time);
    DeadlineEngine hurried(engine());
    hurried.bounds_in_time = in_time;
    const auto found = SearchLeaves(hurried, all->job, options, nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->timed_out);
    EXPECT_EQ(hurried.bounds, in_time);
    EXPECT_EQ(found->nodes, hurried.nodes);
    EXPECT_EQ(found->leaves.empty() ? 0 : found->leaves.front().hits, hurried.best_leaf);
    for (const Leaf& leaf : found->leaves) {
      EXPECT_EQ(leaf.hits, CountHits(all->shape, all->columns, *all->job.scan, leaf.heading, leaf.x,
                                     leaf.y, leaf.z));
    }
    with_leaves += found->leaves.empty() ? 0 : 1;
  }
  EXPECT_GT(with_leaves, 0u);
  EXPECT_LT(with_leaves, unhurried.bounds);
}

}  // namespace
}  // namespace voxloc
