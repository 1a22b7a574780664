// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of every call of several engines behind one fails once: the call succeeds with
// the same bits or answers ResourceExhausted, and no engine is taken to be busy afterwards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/core/engine/replica/replicated_scene.h"
#include "tests/support/fail_every_allocation.h"
#include "tests/support/random_bounds.h"

namespace voxloc {
namespace {

class ReplicatedAllocationTest : public ::testing::Test {
 protected:
  template <typename MakeCall, typename Check>
  void FailEveryAllocation(const MakeCall& call, const Check& check) {
    voxloc::FailEveryAllocation([this]() -> Engine& { return *fleet_.engine; }, call, check);
  }
  template <typename MakeCall, typename BitsOf>
  void ExpectBitsOrNoMemory(const MakeCall& call, const BitsOf& bits_of) {
    const std::string expected = bits_of(*call(*fleet_.engine));
    ASSERT_FALSE(expected.empty());
    FailEveryAllocation(call, BitsOrNoMemory(expected, bits_of));
  }

  // A batch is split by what each engine is taken to have to do already.
  void TearDown() override {
    const size_t before[] = {fleet_.faults[0]->batches().size(),
                             fleet_.faults[1]->batches().size()};
    const std::vector<AlignJob> jobs = FleetJobs(fleet_.map, 10);
    ExpectAsAlone(fleet_.engine->Align(jobs), jobs);
    for (size_t i = 0; i < 2; ++i) {
      const auto batches = fleet_.faults[i]->batches();
      ASSERT_EQ(batches.size(), before[i] + 1);
      EXPECT_EQ(batches.back(), 5u) << "engine " << i;
    }
  }

  const Fleet fleet_ = MakeFleet(2);
};

TEST_F(ReplicatedAllocationTest, ScansAreAlignedOrRefused) {
  std::vector<AlignJob> jobs = FleetJobs(fleet_.map, 4);
  std::vector<std::string> expected;
  for (const AlignResult& result : fleet_.engine->Align(jobs)) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    expected.push_back(Bits(result));
  }
  const auto align = [&](Engine& engine) {
    for (AlignJob& job : jobs) job.packed = engine.Pack(job);
    return AlignOrEmpty(engine, jobs);
  };
  FailEveryAllocation(align, AllBitsOrNoMemory(expected));
}

TEST_F(ReplicatedAllocationTest, PosesAreScoredOrRefused) {
  const ScoreRequest request = FleetRequest(fleet_.map, 600);
  ExpectBitsOrNoMemory([&](Engine& engine) { return engine.Score(request); },
                       [](const ScoreResult& result) { return Bits(result); });
}

TEST_F(ReplicatedAllocationTest, GridsAreKeptAndNodesBoundedOrRefused) {
  RandomBoundsOptions options;
  options.shape.columns_x = options.shape.columns_y = 128;
  options.shape.shifts = {0, 2};
  options.shape.tolerances = {0};
  RandomNumbers random(5);
  const std::vector<uint64_t> columns = RandomColumns(options, random);
  const auto make_grid = [&] { return BoundGrid::Make(options.shape, columns).value(); };
  BoundRequest request = RandomRequest(options, 0, 8, 8, 40, random);
  request.grid = fleet_.engine->LoadBoundGrid(make_grid()).value();
  request.scan = RandomScan(options, random);
  request.allowed_z.assign(1, ~uint64_t{0});
  request.min_hits = 8;
  const auto bits = [](const std::vector<BoundHit>& hits) { return Bits(hits); };
  ExpectBitsOrNoMemory([&](Engine& engine) { return engine.Bound(request); }, bits);

  // The grid that a call takes is made without fail.
  std::optional<BoundGrid> grid = make_grid();
  const auto keep = [&](Engine& engine) { return engine.LoadBoundGrid(*std::move(grid)); };
  const auto check = [&](const auto& kept) {
    grid = make_grid();
    EXPECT_TRUE(kept.ok() || kept.status().code() == absl::StatusCode::kResourceExhausted)
        << kept.status();
    return kept.ok();
  };
  FailEveryAllocation(keep, check);
}

TEST_F(ReplicatedAllocationTest, TilesAndMapsAreMadeOrRefused) {
  const std::vector<CellStatistics> statistics = RequiredStatistics({AutowareProfile()});
  const PointCloud cloud = SceneScan(ScenePose(), 200);
  const auto tile = fleet_.engine->BuildTile(cloud, statistics).value();
  const std::string bytes = fleet_.engine->ExportTile(*tile).value();
  const auto bytes_of = [&](const std::shared_ptr<const ResidentTile>& made) {
    return fleet_.engine->ExportTile(*made).value();
  };
  ExpectBitsOrNoMemory([&](Engine& engine) { return engine.BuildTile(cloud, statistics); },
                       bytes_of);
  ExpectBitsOrNoMemory([&](Engine& engine) { return engine.ImportTile(bytes); }, bytes_of);
  ExpectBitsOrNoMemory([&](Engine& engine) { return engine.ExportTile(*tile); },
                       [](const std::string& exported) { return exported; });
  const std::vector<std::shared_ptr<const ResidentTile>> tiles = {tile, tile};
  ExpectBitsOrNoMemory(
      [&](Engine& engine) { return engine.Compose(tiles, statistics, fleet_.map.get()); },
      [&](const std::shared_ptr<const ResidentMap>& map) {
        return Bits(AllCells(*map, statistics[0]));
      });
}

TEST_F(ReplicatedAllocationTest, AScanIsFilteredOrRefused) {
  const PointCloud cloud = SceneScan(ScenePose(), 1000);
  FilterOptions options;
  options.voxel_leaf_m = 1.0;
  ExpectBitsOrNoMemory(
      [&](Engine& engine) { return engine.Filter(cloud, options, WorkClass::kTracking); },
      [](const FilteredCloud& filtered) {
        std::string bits;
        for (const float value : filtered.cloud.x) AppendBits(value, bits);
        return bits;
      });
}

}  // namespace
}  // namespace voxloc
