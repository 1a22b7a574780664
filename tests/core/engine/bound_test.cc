// SPDX-License-Identifier: Apache-2.0
//
// Counts of hits, all heights at once, against counts that look at one voxel at a time; and counts
// of coarse nodes, which must never be below those of what they cover.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/engine.h"
#include "tests/support/random_bounds.h"

namespace voxloc {
namespace {

BoundGridShape Shape(int32_t words) {
  BoundGridShape shape;
  shape.columns_x = 64;
  shape.columns_y = 57;
  shape.words = words;
  shape.shifts = {0, 1, 3};
  shape.tolerances = {0, 1, 5};
  return shape;
}

class BoundTest : public ::testing::TestWithParam<int32_t> {
 protected:
  BoundTest() : random_(static_cast<uint64_t>(GetParam()) + 7), engine_(MakeCpuEngine({3})) {
    options_.shape = Shape(GetParam());
    columns_ = RandomColumns(options_, random_);
    scan_ = RandomScan(options_, random_);
    auto grid = BoundGrid::Make(options_.shape, columns_);
    EXPECT_TRUE(grid.ok()) << grid.status();
    auto kept = engine_->KeepBoundGrid(*std::move(grid));
    EXPECT_TRUE(kept.ok());
    grid_ = *std::move(kept);
  }

  BoundRequest Request(size_t level, int32_t nodes_x, int32_t nodes_y, size_t blocks) {
    BoundRequest request = RandomRequest(options_, level, nodes_x, nodes_y, blocks, random_);
    request.grid = grid_;
    request.scan = scan_;
    return request;
  }

  // Of the best allowed height at one column.
  BoundHit BestOfColumn(const BoundRequest& request, uint32_t heading, int32_t x, int32_t y) const {
    BoundHit best;
    for (int32_t z = 0; z < 64 * options_.shape.words; ++z) {
      if ((request.allowed_z[static_cast<size_t>(z / 64)] >> (z % 64) & 1) == 0) continue;
      const uint32_t hits = CountHits(options_.shape, columns_, *scan_, heading, x, y, z);
      if (hits <= best.hits) continue;
      best.hits = static_cast<uint16_t>(hits);
      best.z = static_cast<uint16_t>(z);
    }
    return best;
  }

  RandomBoundsOptions options_;
  RandomNumbers random_;
  std::vector<uint64_t> columns_;
  std::shared_ptr<const BoundScan> scan_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const ResidentBoundGrid> grid_;
};

TEST_P(BoundTest, CountsOfSingleVoxelsAreThoseOfLookingAtEveryPoint) {
  for (const int32_t nodes_x : {1, 2, 5, 8}) {
    BoundRequest request = Request(0, nodes_x, 3, 4);
    for (uint64_t& word : request.allowed_z) word = 0x0ff0'ffff'00ff'fff0ULL;
    const auto hits = engine_->Bound(request);
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_EQ(hits->size(), static_cast<size_t>(nodes_x) * 3 * 4);
    for (size_t i = 0; i < hits->size(); ++i) {
      const BoundHit& hit = (*hits)[i];
      ASSERT_EQ(hit.node, i);
      const auto node = static_cast<int32_t>(i);
      const BoundBlock& block = request.blocks[i / (3 * static_cast<size_t>(nodes_x))];
      const BoundHit expected = BestOfColumn(request, block.heading, block.x + node % nodes_x,
                                             block.y + node / nodes_x % 3);
      EXPECT_EQ(hit.hits, expected.hits);
      EXPECT_EQ(hit.z, expected.z);
    }
  }
}

TEST_P(BoundTest, ANodeIsNeverBelowTheLeavesItCovers) {
  for (size_t level = 1; level < options_.shape.shifts.size(); ++level) {
    const int32_t window = 1 << options_.shape.shifts[level];
    const BoundRequest request = Request(level, 1, 1, 12);
    const auto hits = engine_->Bound(request);
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_EQ(hits->size(), request.blocks.size());
    bool any_tight = false;
    for (size_t i = 0; i < hits->size(); ++i) {
      const BoundBlock& block = request.blocks[i];
      uint16_t best = 0;
      for (int32_t y = block.y; y < block.y + window; ++y) {
        for (int32_t x = block.x; x < block.x + window; ++x) {
          best = std::max(best, BestOfColumn(request, block.heading, x, y).hits);
        }
      }
      EXPECT_GE((*hits)[i].hits, best);
      any_tight = any_tight || (*hits)[i].hits < options_.points;
    }
    EXPECT_TRUE(any_tight) << "a bound that is always the number of points says nothing";
  }
}

TEST_P(BoundTest, NodesBelowTheMinimumAreLeftOutAndTheOthersUnchanged) {
  BoundRequest request = Request(1, 6, 5, 9);
  const auto all = engine_->Bound(request);
  ASSERT_TRUE(all.ok());
  uint16_t middle = 0;
  for (const BoundHit& hit : *all) middle = std::max(middle, hit.hits);
  for (uint32_t least = 2; least <= middle + 1U; least += 3) {
    request.min_hits = least;
    const auto some = engine_->Bound(request);
    ASSERT_TRUE(some.ok());
    std::vector<BoundHit> expected;
    for (const BoundHit& hit : *all) {
      if (hit.hits >= least) expected.push_back(hit);
    }
    ASSERT_EQ(some->size(), expected.size()) << least;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ((*some)[i].node, expected[i].node);
      EXPECT_EQ((*some)[i].hits, expected[i].hits);
      EXPECT_EQ((*some)[i].z, expected[i].z);
    }
  }
}

TEST_P(BoundTest, BadRequestsSayWhatIsWrong) {
  const BoundRequest good = Request(1, 2, 2, 3);
  const auto message = [&](const BoundRequest& request) {
    const auto hits = engine_->Bound(request);
    EXPECT_EQ(hits.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(hits.status().message());
  };
  BoundRequest request = good;
  request.grid = nullptr;
  EXPECT_NE(message(request).find("grid"), std::string::npos);
  request = good;
  request.level = 3;
  EXPECT_NE(message(request).find("level is 3"), std::string::npos);
  request = good;
  request.min_hits = 0;
  EXPECT_NE(message(request).find("min_hits"), std::string::npos);
  request = good;
  request.allowed_z.push_back(1);
  EXPECT_NE(message(request).find("allowed_z"), std::string::npos);
  request = good;
  request.blocks[1].x += 1;
  EXPECT_NE(message(request).find("multiple of 2"), std::string::npos);
  request = good;
  request.blocks[1].y = 0;
  EXPECT_NE(message(request).find("points within"), std::string::npos);
  request = good;
  request.blocks[2].heading = 99;
  EXPECT_NE(message(request).find("heading is 99"), std::string::npos);
  request = good;
  auto scan = std::make_shared<BoundScan>(*scan_);
  scan->points[5].blur_class = 3;
  request.scan = scan;
  EXPECT_NE(message(request).find("blur_class is 3"), std::string::npos);
}

TEST_P(BoundTest, ARaisedStopTokenEndsIt) {
  BoundRequest request = Request(0, 8, 8, 4);
  request.stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
  EXPECT_EQ(engine_->Bound(request).status(), absl::CancelledError("bounding was cancelled"));
  request.stop.cancelled = nullptr;
  request.stop.deadline = absl::InfinitePast();
  EXPECT_EQ(engine_->Bound(request).status(),
            absl::DeadlineExceededError("the deadline passed while bounding"));
}

INSTANTIATE_TEST_SUITE_P(WordsOfAColumn, BoundTest, ::testing::Values(1, 2, 3));

TEST(BoundGridTest, BadShapesSayWhatIsWrong) {
  const auto message = [](const BoundGridShape& shape) {
    const auto grid = BoundGrid::Make(shape, std::vector<uint64_t>(10));
    EXPECT_EQ(grid.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(grid.status().message());
  };
  BoundGridShape shape = Shape(1);
  EXPECT_NE(message(shape).find("10 words"), std::string::npos);
  shape.columns_x = 63;
  EXPECT_NE(message(shape).find("(got 63)"), std::string::npos);
  shape = Shape(0);
  EXPECT_NE(message(shape).find("words must be from 1 to"), std::string::npos);
  shape = Shape(1);
  shape.shifts = {0, 2, 2};
  EXPECT_NE(message(shape).find("shifts are 0, 2, 2"), std::string::npos);
  shape = Shape(1);
  shape.tolerances = {1};
  EXPECT_NE(message(shape).find("tolerances are 1"), std::string::npos);
}

}  // namespace
}  // namespace voxloc
