// SPDX-License-Identifier: Apache-2.0
//
// Which search grids are kept, which are let go, and in which order.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/estimate/global_search/search_grid.h"
#include "tests/core/engine/replica/faulty_engine.h"
#include "tests/support/engine_scene.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {
namespace {

using GridPointer = std::shared_ptr<const SearchGrid>;

const CellStatistics& Cells() {
  static const auto& cells = *new CellStatistics(AutowareProfile().stages[0].cells);
  return cells;
}

SearchGridOptions SmallOptions() {
  SearchGridOptions options;
  options.reach_m = 6.0;
  return options;
}

// Every map is one of its own, and their grids are equally large.
std::shared_ptr<const ResidentMap> MakeMap(Engine& engine, double half_extent_m = 10.0) {
  SceneOptions scene;
  scene.half_extent_m = half_extent_m;
  return LoadMap(engine, {SceneMap(scene)}, {Cells()});
}

size_t BytesOf(Engine& engine, const ResidentMap& map) {
  const auto grid = MakeSearchGrid(engine, map, Cells(), std::nullopt, SmallOptions());
  EXPECT_TRUE(grid.ok()) << grid.status();
  return grid.ok() ? grid->resident->MemoryBytes() : 0;
}

class GridCacheTest : public ::testing::Test {
 protected:
  GridPointer Get(GridCache& cache, const std::shared_ptr<const ResidentMap>& map,
                  const std::optional<SearchArea>& area = std::nullopt) {
    auto grid = cache.Get(map, Cells(), area, SmallOptions());
    EXPECT_TRUE(grid.ok()) << grid.status();
    return grid.ok() ? *std::move(grid) : nullptr;
  }

  const std::unique_ptr<Engine> engine_ = MakeCpuEngine({1});
  const std::vector<std::shared_ptr<const ResidentMap>> maps_ = {
      MakeMap(*engine_), MakeMap(*engine_), MakeMap(*engine_)};
  const size_t bytes_ = BytesOf(*engine_, *maps_[0]);
};

TEST_F(GridCacheTest, AMapHasOneGridForAllItsAreasWhileItIsKept) {
  GridCache cache(*engine_, 10 * bytes_);
  const GridPointer first = Get(cache, maps_[0]);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(Get(cache, maps_[0]), first);
  EXPECT_EQ(Get(cache, maps_[0], SearchArea{{-2.0, -2.0}, {3.0, 3.0}}), first);
  const GridPointer other = Get(cache, maps_[1]);
  EXPECT_NE(other, first);
  EXPECT_EQ(Get(cache, maps_[0]), first);
  EXPECT_EQ(Get(cache, maps_[1]), other);
}

TEST_F(GridCacheTest, OtherVoxelsOrCellsAreAnotherGrid) {
  const auto map = LoadMap(*engine_, {SceneMap()}, AllStatistics());
  GridCache cache(*engine_, size_t{64} << 20);
  const GridPointer grid = Get(cache, map);
  ASSERT_NE(grid, nullptr);
  SearchGridOptions coarse = SmallOptions();
  coarse.voxel_m = 2.0;
  const auto coarse_grid = cache.Get(map, Cells(), std::nullopt, coarse);
  ASSERT_TRUE(coarse_grid.ok()) << coarse_grid.status();
  EXPECT_EQ((*coarse_grid)->voxel_m, 2.0);
  const auto of_other_cells =
      cache.Get(map, PreciseProfile().stages[1].cells, std::nullopt, SmallOptions());
  ASSERT_TRUE(of_other_cells.ok()) << of_other_cells.status();
  EXPECT_NE(*of_other_cells, grid);
  EXPECT_EQ(Get(cache, map), grid);
}

TEST_F(GridCacheTest, EachAreaOfAMapTooLargeHasAGridOfItsOwn) {
  const auto large = MakeMap(*engine_, 60.0);
  GridCache cache(*engine_, BytesOf(*engine_, *large) / 2);
  const SearchArea west{{-30.0, -4.0}, {-22.0, 4.0}};
  const SearchArea east{{22.0, -4.0}, {30.0, 4.0}};
  EXPECT_FALSE(cache.Get(large, Cells(), std::nullopt, SmallOptions()).ok());
  const GridPointer west_grid = Get(cache, large, west);
  const GridPointer east_grid = Get(cache, large, east);
  ASSERT_NE(west_grid, nullptr);
  ASSERT_NE(east_grid, nullptr);
  EXPECT_NE(west_grid->corner_map.x(), east_grid->corner_map.x());
  EXPECT_EQ(Get(cache, large, west), west_grid);
  EXPECT_EQ(Get(cache, large, east), east_grid);
}

TEST_F(GridCacheTest, TheLeastRecentlyUsedGoesFirst) {
  GridCache cache(*engine_, 2 * bytes_ + bytes_ / 2);
  const std::weak_ptr<const SearchGrid> first = Get(cache, maps_[0]);
  const std::weak_ptr<const SearchGrid> second = Get(cache, maps_[1]);
  EXPECT_FALSE(first.expired() || second.expired()) << "both have room";
  // The first is used once more, so that the second is the one not used for longest.
  EXPECT_EQ(Get(cache, maps_[0]), first.lock());
  const std::weak_ptr<const SearchGrid> third = Get(cache, maps_[2]);
  EXPECT_FALSE(first.expired());
  EXPECT_TRUE(second.expired());
  EXPECT_FALSE(third.expired());
}

TEST_F(GridCacheTest, AGridInUseAnswersAfterItsEvictionAsBefore) {
  GridCache cache(*engine_, bytes_ + bytes_ / 2);
  const GridPointer in_use = Get(cache, maps_[0]);
  ASSERT_NE(in_use, nullptr);
  auto scan = std::make_shared<BoundScan>();
  scan->points_per_heading = 4;
  scan->points = {{0, 0, 0, 0}, {2, 1, 0, 0}, {-3, 2, 1, 0}, {1, -4, 2, 1}};
  BoundRequest request;
  request.grid = in_use->resident;
  request.scan = scan;
  request.blocks = {{0, in_use->begin.x(), in_use->begin.y()}};
  request.nodes_x = in_use->end.x() - in_use->begin.x();
  request.nodes_y = in_use->end.y() - in_use->begin.y();
  request.allowed_z.assign(static_cast<size_t>(in_use->resident->shape().words), ~uint64_t{0});
  const auto before = engine_->Bound(request);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_FALSE(before->empty());

  const GridPointer other = Get(cache, maps_[1]);
  const GridPointer again = Get(cache, maps_[0]);
  EXPECT_NE(again, in_use) << "it was never evicted";
  for (const auto& grid : {in_use, again}) {
    request.grid = grid->resident;
    const auto after = engine_->Bound(request);
    ASSERT_TRUE(after.ok()) << after.status();
    ASSERT_EQ(after->size(), before->size());
    for (size_t i = 0; i < after->size(); ++i) {
      EXPECT_EQ((*after)[i].node, (*before)[i].node);
      EXPECT_EQ((*after)[i].hits, (*before)[i].hits);
      EXPECT_EQ((*after)[i].z, (*before)[i].z);
    }
  }
}

// Keeps twice as much of a grid as it is: that much only an engine can say.
class LavishEngine : public ForwardingEngine {
 public:
  absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) override {
    auto kept = ForwardingEngine::DoLoadBoundGrid(std::move(grid));
    if (!kept.ok()) return kept.status();
    return std::make_shared<const Twice>(*std::move(kept));
  }

 private:
  class Twice : public ResidentBoundGrid {
   public:
    explicit Twice(std::shared_ptr<const ResidentBoundGrid> kept) : kept_(std::move(kept)) {}
    const BoundGridShape& shape() const override { return kept_->shape(); }
    size_t MemoryBytes() const override { return 2 * kept_->MemoryBytes(); }

   private:
    const std::shared_ptr<const ResidentBoundGrid> kept_;
  };
};

TEST_F(GridCacheTest, AGridLargerThanTheLimitIsAnsweredAndTakesTheRoomOfAllOthers) {
  LavishEngine lavish;
  const auto small = MakeMap(lavish, 5.0);
  const auto large = MakeMap(lavish, 14.0);
  const size_t limit = BytesOf(lavish, *large) * 3 / 4;
  ASSERT_LT(BytesOf(lavish, *small), limit);
  GridCache cache(lavish, limit);
  const std::weak_ptr<const SearchGrid> evicted = Get(cache, small);
  EXPECT_FALSE(evicted.expired());
  const GridPointer grid = Get(cache, large);
  ASSERT_NE(grid, nullptr);
  EXPECT_GT(grid->resident->MemoryBytes(), limit);
  EXPECT_TRUE(evicted.expired());
  // It gives way in its turn.
  const std::weak_ptr<const SearchGrid> back = Get(cache, small);
  EXPECT_FALSE(back.expired());
  EXPECT_NE(Get(cache, large), grid);
}

TEST_F(GridCacheTest, AShortageOfMemoryIsNotRemembered) {
  const auto faults = std::make_shared<Faults>();
  FaultyEngine engine(faults);
  const auto map = MakeMap(engine);
  GridCache cache(engine, 10 * bytes_);
  faults->out_of_memory = true;
  const auto refused = cache.Get(map, Cells(), std::nullopt, SmallOptions());
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  faults->out_of_memory = false;
  EXPECT_NE(Get(cache, map), nullptr);
}

TEST_F(GridCacheTest, TheGridOfAMapThatIsGoneIsLetGo) {
  GridCache cache(*engine_, 10 * bytes_);
  auto map = MakeMap(*engine_);
  const std::weak_ptr<const SearchGrid> grid = Get(cache, map);
  EXPECT_FALSE(grid.expired());
  map = nullptr;
  const GridPointer other = Get(cache, maps_[0]);
  EXPECT_TRUE(grid.expired());
}

}  // namespace
}  // namespace voxloc
