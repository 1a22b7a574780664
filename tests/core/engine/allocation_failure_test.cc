// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of every call fails once, on whichever thread it is, alone and with all that
// follow: the call succeeds with the same bits or answers ResourceExhausted, and the engine goes
// on. In a sanitizer build this also finds what is leaked or used after it is freed.

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/global_search/search_points.h"
#include "tests/support/engine_test.h"
#include "tests/support/fail_every_allocation.h"
#include "tests/support/random_bounds.h"
#include "tests/support/random_numbers.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// Of a CPU engine: the threads of the pool take part in every call.
constexpr size_t kThreads = 3;

std::string Bits(const ResidentMap& map) {
  std::string bits;
  for (const CellStatistics& statistics : map.statistics()) bits += Bits(AllCells(map, statistics));
  return bits;
}

class AllocationFailureTest : public EngineTest {
 protected:
  // On the CPU a new one each time, whose workspaces are allocated in the call. A device is set up
  // for longer than all calls take, so its engine is the shared one.
  Engine& EngineToFail() {
    if (GetParam() != "cpu") return engine();
    own_ = MakeCpuEngine({kThreads});
    return *own_;
  }

  template <typename MakeCall, typename Check>
  void FailEveryAllocation(const MakeCall& call, const Check& check) {
    voxloc::FailEveryAllocation([this]() -> Engine& { return EngineToFail(); }, call, check);
  }
  template <typename MakeCall, typename BitsOf>
  void FailEveryAllocation(const MakeCall& call, const std::string& expected,
                           const BitsOf& bits_of) {
    ASSERT_FALSE(expected.empty());
    FailEveryAllocation(call, BitsOrNoMemory(expected, bits_of));
  }

  // `prepare` is part of each call and changes the jobs.
  template <typename Prepare>
  void FailAlignments(std::vector<AlignJob> jobs, const Prepare& prepare) {
    std::vector<std::string> expected;
    for (const AlignResult& result : engine().Align(jobs)) {
      ASSERT_TRUE(result.status.ok()) << result.status;
      expected.push_back(Bits(result));
    }
    const auto align = [&](Engine& engine) {
      prepare(engine, jobs);
      return AlignOrEmpty(engine, jobs);
    };
    FailEveryAllocation(align, AllBitsOrNoMemory(expected));
  }
  void FailAlignments(const std::vector<AlignJob>& jobs) {
    FailAlignments(jobs, [](Engine&, const std::vector<AlignJob>&) {});
  }

  static AlignJob JobOf(const Profile& profile, size_t points) {
    AlignJob job = SceneJob(profile);
    job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
    job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.02}, 0.01);
    job.with_trace = true;
    job.with_point_scores = true;
    return job;
  }

  // One over groups of the scan's points, one over a cloud of its own.
  static AlignJob JobWithPasses(const Profile& profile, size_t points) {
    AlignJob job = JobOf(profile, points);
    auto groups = std::make_shared<PointGroups>();
    for (uint32_t place = 0; place < points; place += 2) groups->places.push_back(place);
    const auto grouped = static_cast<uint32_t>(groups->places.size());
    groups->ends = {grouped / 3, grouped};
    job.passes.resize(2);
    job.passes[0].groups = std::move(groups);
    job.passes[0].with_point_scores = true;
    job.passes[1].cloud = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points / 2));
    job.passes[1].with_point_scores = true;
    job.passes[1].score_stage = true;
    return job;
  }

 private:
  std::unique_ptr<Engine> own_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(AllocationFailureTest);

TEST_P(AllocationFailureTest, ALargeScanSpreadOverThreadsIsAlignedOrRefused) {
  FailAlignments({JobOf(AutowareProfile(), 5000)});
}

TEST_P(AllocationFailureTest, EveryScanOfABatchIsAlignedOrRefused) {
  FailAlignments({JobOf(AutowareProfile(), 300), JobWithPasses(PreciseProfile(), 300),
                  JobOf(AutowareProfile(), 600), JobOf(AutowareProfile(), 100)});
}

TEST_P(AllocationFailureTest, ScansArePackedForAlignmentOrNot) {
  FailAlignments({JobOf(AutowareProfile(), 300), JobWithPasses(PreciseProfile(), 300)},
                 [](Engine& engine, std::vector<AlignJob>& jobs) {
                   for (AlignJob& job : jobs) job.packed = engine.Pack(job);
                 });
}

TEST_P(AllocationFailureTest, PosesAreScoredOrRefused) {
  ScoreRequest request = SceneScoreRequest(PreciseProfile().stages.back(), 70);
  request.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 200));
  request.with_point_scores = true;
  const std::string expected = Bits(engine().Score(request).value());
  FailEveryAllocation([&](Engine& engine) { return engine.Score(request); }, expected,
                      [](const ScoreResult& result) { return Bits(result); });
}

TEST_P(AllocationFailureTest, GridsAreKeptAndNodesBoundedOrRefused) {
  RandomBoundsOptions options;
  options.shape.columns_x = options.shape.columns_y = 128;
  options.shape.shifts = {0, 2};
  options.shape.tolerances = {0};
  RandomNumbers random(5);
  const std::vector<uint64_t> columns = RandomColumns(options, random);
  const auto make_grid = [&] { return BoundGrid::Make(options.shape, columns).value(); };
  BoundRequest request = RandomRequest(options, 0, 8, 8, 200, random);
  request.grid = engine().LoadBoundGrid(make_grid()).value();
  request.scan = RandomScan(options, random);
  request.allowed_z.assign(1, ~uint64_t{0});
  request.min_hits = 8;
  const auto hits = engine().Bound(request);
  ASSERT_TRUE(hits.ok()) << hits.status();
  ASSERT_FALSE(hits->empty());
  const std::string expected = Bits(*hits);
  FailEveryAllocation([&](Engine& engine) { return engine.Bound(request); }, expected,
                      [](const std::vector<BoundHit>& some) { return Bits(some); });

  // The grid is the caller's, which is made without fail.
  std::optional<BoundGrid> grid;
  using Kept = absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>>;
  const auto keep = [&](Engine& engine) { return engine.LoadBoundGrid(*std::move(grid)); };
  const auto check = [&](const Kept& kept) {
    grid = make_grid();
    if (!kept.ok()) {
      EXPECT_EQ(kept.status().code(), absl::StatusCode::kResourceExhausted) << kept.status();
      return false;
    }
    request.grid = *kept;
    EXPECT_TRUE(Bits(engine().Bound(request).value()) == expected);
    return true;
  };
  grid = make_grid();
  FailEveryAllocation(keep, check);
}

TEST_P(AllocationFailureTest, TilesAndMapsAreBuiltOrRefused) {
  PointCloud cloud;
  RandomNumbers random(7);
  for (int i = 0; i < 400; ++i) {
    const Eigen::Vector3d at = random.InBox(6.0);
    cloud.PushBack(static_cast<float>(at.x()), static_cast<float>(at.y()),
                   static_cast<float>(at.z()));
  }
  PointCloud far = cloud;  // blocks so far apart that they are found by a hash
  far.origin += Eigen::Vector3d(2e5, 2e5, 0.0);
  const std::vector<CellStatistics> statistics = AllStatistics();
  const std::vector<std::shared_ptr<const ResidentTile>> tiles = {
      engine().BuildTile(cloud, statistics).value(), engine().BuildTile(far, statistics).value()};
  const auto map_of = [&](std::shared_ptr<const ResidentTile> tile) {
    return Bits(*engine().Compose({std::move(tile)}, statistics, nullptr).value());
  };
  FailEveryAllocation([&](Engine& engine) { return engine.BuildTile(cloud, statistics); },
                      map_of(tiles[0]), map_of);
  FailEveryAllocation([&](Engine& engine) { return engine.CopyTile(*tiles[0]); }, map_of(tiles[0]),
                      map_of);
  const auto previous = engine().Compose({tiles[0]}, statistics, nullptr).value();
  const std::string expected = Bits(*engine().Compose(tiles, statistics, nullptr).value());
  for (const ResidentMap* const from : {previous.get(), static_cast<const ResidentMap*>(nullptr)}) {
    FailEveryAllocation([&](Engine& engine) { return engine.Compose(tiles, statistics, from); },
                        expected,
                        [](const std::shared_ptr<const ResidentMap>& map) { return Bits(*map); });
  }
}

TEST_P(AllocationFailureTest, TheCellsOfABoxAreReadOrRefused) {
  const Eigen::Vector3d reach = Eigen::Vector3d::Constant(10.0);
  const auto read = [&](Engine&) { return scene_map()->CellsInBox(0, -reach, reach, 1'000'000); };
  FailEveryAllocation(read, Bits(read(engine()).value()),
                      [](const std::vector<MapCell>& cells) { return Bits(cells); });
}

TEST_P(AllocationFailureTest, TilesAreExportedAndImportedOrRefused) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto tile = engine().BuildTile(SceneScan(ScenePose(), 200), statistics).value();
  const std::string expected = engine().ExportTile(*tile).value();
  FailEveryAllocation([&](Engine& engine) { return engine.ExportTile(*tile); }, expected,
                      [](const std::string& bytes) { return bytes; });
  FailEveryAllocation([&](Engine& engine) { return engine.ImportTile(expected); }, expected,
                      [&](const std::shared_ptr<const ResidentTile>& imported) {
                        return engine().ExportTile(*imported).value();
                      });
}

TEST_P(AllocationFailureTest, AScanIsFilteredOrRefused) {
  FilterOptions options;
  options.voxel_leaf_m = 1.0;
  options.max_points = 200;
  const auto bits = [](const FilteredCloud& filtered) {
    std::string all;
    for (const auto* axis : {&filtered.cloud.x, &filtered.cloud.y, &filtered.cloud.z}) {
      for (const float value : *axis) AppendBits(value, all);
    }
    return all;
  };
  // A device filters the larger one.
  for (const size_t points : {2000, 12'000}) {
    const PointCloud cloud = SceneScan(ScenePose(), points);
    FailEveryAllocation(
        [&](Engine& engine) { return engine.Filter(cloud, options, WorkClass::kTracking); },
        bits(*FilterCloud(cloud, options)), bits);
  }
}

// The search catches what this throws.
TEST_P(AllocationFailureTest, ThePointsOfASearchAreChosenOrNot) {
  const PointCloud scan = SceneScan(ScenePose(), 2000);
  const SearchPointOptions options;
  using Points = std::vector<Eigen::Vector3d>;
  const Points expected = ChooseSearchPoints(scan, options);
  ASSERT_FALSE(expected.empty());
  const auto choose = [&](Engine&) {
    try {
      return ChooseSearchPoints(scan, options);
    } catch (const std::bad_alloc&) {
      return Points();
    }
  };
  FailEveryAllocation(choose, [&](const Points& points) {
    EXPECT_TRUE(points.empty() || points == expected);
    return !points.empty();
  });
}

}  // namespace
}  // namespace voxloc
