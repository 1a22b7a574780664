// SPDX-License-Identifier: Apache-2.0
//
// Counts of hits, all heights at once, against counts that look at one voxel at a time; and counts
// of coarse nodes, which must never be below those of what they cover.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "tests/support/engine_test.h"
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

// A random grid of so many words a column, kept by an engine, and scans for it.
class BoundScene {
 public:
  BoundScene(Engine& engine, int32_t words) : random_(static_cast<uint64_t>(words) + 7) {
    options_.shape = Shape(words);
    columns_ = RandomColumns(options_, random_);
    scan_ = RandomScan(options_, random_);
    auto grid = BoundGrid::Make(options_.shape, columns_);
    EXPECT_TRUE(grid.ok()) << grid.status();
    auto kept = engine.LoadBoundGrid(*std::move(grid));
    EXPECT_TRUE(kept.ok()) << kept.status();
    grid_ = *std::move(kept);
  }

  const RandomBoundsOptions& options() const { return options_; }
  const BoundScan& scan() const { return *scan_; }

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

 private:
  RandomBoundsOptions options_;
  RandomNumbers random_;
  std::vector<uint64_t> columns_;
  std::shared_ptr<const BoundScan> scan_;
  std::shared_ptr<const ResidentBoundGrid> grid_;
};

class BoundTest : public EngineTest {
 protected:
  // With columns of one, two and three words.
  static void ForEachScene(const std::function<void(BoundScene&)>& check) {
    for (const int32_t words : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(words) + " words a column");
      BoundScene scene(engine(), words);
      check(scene);
    }
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(BoundTest);

TEST_P(BoundTest, CountsOfSingleVoxelsAreThoseOfLookingAtEveryPoint) {
  ForEachScene([](BoundScene& scene) {
    for (const int32_t nodes_x : {1, 2, 5, 8}) {
      BoundRequest request = scene.Request(0, nodes_x, 3, 4);
      for (uint64_t& word : request.allowed_z) word = 0x0ff0'ffff'00ff'fff0ULL;
      const auto hits = engine().Bound(request);
      ASSERT_TRUE(hits.ok()) << hits.status();
      ASSERT_EQ(hits->size(), static_cast<size_t>(nodes_x) * 3 * 4);
      for (size_t i = 0; i < hits->size(); ++i) {
        const BoundHit& hit = (*hits)[i];
        ASSERT_EQ(hit.node, i);
        const auto node = static_cast<int32_t>(i);
        const BoundBlock& block = request.blocks[i / (3 * static_cast<size_t>(nodes_x))];
        const BoundHit expected = scene.BestOfColumn(
            request, block.heading, block.x + node % nodes_x, block.y + node / nodes_x % 3);
        EXPECT_EQ(hit.hits, expected.hits);
        EXPECT_EQ(hit.z, expected.z);
      }
    }
  });
}

TEST_P(BoundTest, ANodeIsNeverBelowTheLeavesItCovers) {
  ForEachScene([](BoundScene& scene) {
    for (size_t level = 1; level < scene.options().shape.shifts.size(); ++level) {
      const int32_t window = 1 << scene.options().shape.shifts[level];
      const BoundRequest request = scene.Request(level, 1, 1, 12);
      const auto hits = engine().Bound(request);
      ASSERT_TRUE(hits.ok()) << hits.status();
      ASSERT_EQ(hits->size(), request.blocks.size());
      bool any_tight = false;
      for (size_t i = 0; i < hits->size(); ++i) {
        const BoundBlock& block = request.blocks[i];
        uint16_t best = 0;
        for (int32_t y = block.y; y < block.y + window; ++y) {
          for (int32_t x = block.x; x < block.x + window; ++x) {
            best = std::max(best, scene.BestOfColumn(request, block.heading, x, y).hits);
          }
        }
        EXPECT_GE((*hits)[i].hits, best);
        any_tight = any_tight || (*hits)[i].hits < scene.options().points;
      }
      EXPECT_TRUE(any_tight) << "a bound that is always the number of points says nothing";
    }
  });
}

TEST_P(BoundTest, NodesBelowTheMinimumAreLeftOutAndTheOthersUnchanged) {
  ForEachScene([](BoundScene& scene) {
    BoundRequest request = scene.Request(1, 6, 5, 9);
    const auto all = engine().Bound(request);
    ASSERT_TRUE(all.ok());
    uint16_t middle = 0;
    for (const BoundHit& hit : *all) middle = std::max(middle, hit.hits);
    for (uint32_t least = 2; least <= middle + 1U; least += 3) {
      request.min_hits = least;
      const auto some = engine().Bound(request);
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
  });
}

TEST_P(BoundTest, BadRequestsSayWhatIsWrong) {
  ForEachScene([](BoundScene& scene) {
    const BoundRequest good = scene.Request(1, 2, 2, 3);
    auto blurred = std::make_shared<BoundScan>(scene.scan());
    blurred->points[5].blur_class = 3;
    const struct {
      std::function<void(BoundRequest&)> change;
      const char* message;
    } rows[] = {{[](BoundRequest& r) { r.grid = nullptr; }, "grid"},
                {[](BoundRequest& r) { r.level = 3; }, "level is 3"},
                {[](BoundRequest& r) { r.min_hits = 0; }, "min_hits"},
                {[](BoundRequest& r) { r.allowed_z.push_back(1); }, "allowed_z"},
                {[](BoundRequest& r) { r.blocks[1].x += 1; }, "multiple of 2"},
                {[](BoundRequest& r) { r.blocks[1].y = 0; }, "points within"},
                {[](BoundRequest& r) { r.blocks[2].heading = 99; }, "heading is 99"},
                {[&](BoundRequest& r) { r.scan = blurred; }, "blur_class is 3"}};
    for (const auto& row : rows) {
      BoundRequest request = good;
      row.change(request);
      const absl::Status status = engine().Bound(request).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
      EXPECT_NE(std::string(status.message()).find(row.message), std::string::npos) << status;
    }
  });
}

TEST_P(BoundTest, ARaisedStopTokenEndsIt) {
  ForEachScene([](BoundScene& scene) {
    BoundRequest request = scene.Request(0, 8, 8, 4);
    request.stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
    EXPECT_EQ(engine().Bound(request).status(), absl::CancelledError("bounding was cancelled"));
    request.stop.cancelled = nullptr;
    request.stop.deadline = absl::InfinitePast();
    EXPECT_EQ(engine().Bound(request).status(),
              absl::DeadlineExceededError("the deadline passed while bounding"));
  });
}

TEST(BoundGridTest, BadShapesSayWhatIsWrong) {
  const struct {
    std::function<void(BoundGridShape&)> change;
    const char* message;
  } rows[] = {{[](BoundGridShape&) {}, "10 words"},
              {[](BoundGridShape& s) { s.columns_x = 63; }, "(got 63)"},
              {[](BoundGridShape& s) { s.words = 0; }, "words must be from 1 to"},
              {[](BoundGridShape& s) {
                 s.shifts = {0, 2, 2};
               },
               "shifts are 0, 2, 2"},
              {[](BoundGridShape& s) { s.tolerances = {1}; }, "tolerances are 1"}};
  for (const auto& row : rows) {
    BoundGridShape shape = Shape(1);
    row.change(shape);
    const absl::Status status = BoundGrid::Make(shape, std::vector<uint64_t>(10)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_NE(std::string(status.message()).find(row.message), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace voxloc
