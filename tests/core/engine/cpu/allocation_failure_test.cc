// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of every call fails once, on whichever thread it is: the call succeeds with the
// same bits or answers ResourceExhausted, and the engine goes on. In a sanitizer build this also
// finds what is leaked or used after it is freed.

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/allocation_hooks.h"
#include "tests/support/engine_scene.h"
#include "tests/support/random_bounds.h"
#include "tests/support/random_numbers.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// The threads of the pool take part in every call.
constexpr size_t kThreads = 3;

template <typename T>
void Append(const T& value, std::string& bits) {
  bits.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Bits(const ResidentMap& map) {
  std::string bits;
  for (const CellStatistics& statistics : map.statistics()) {
    for (const MapCell& cell : AllCells(map, statistics)) {
      Append(cell.mean, bits);
      Append(cell.information, bits);
    }
  }
  return bits;
}

std::string Bits(const ScoreResult& result) {
  std::string bits;
  for (const PoseScore& score : result.poses) {
    Append(score.score, bits);
    Append(score.nearest_voxel_likelihood, bits);
    Append(score.pairs, bits);
  }
  for (const float score : result.point_scores) Append(score, bits);
  return bits;
}

std::string Bits(const std::vector<BoundHit>& hits) {
  std::string bits;
  for (const BoundHit& hit : hits) {
    Append(hit.node, bits);
    Append(hit.hits, bits);
    Append(hit.z, bits);
  }
  return bits;
}

// Makes the call on engines of their own, with the first, the second, ... allocation failing, alone
// or with all that follow, until none is left to fail. `check` looks at a result with no allocation
// failing any more, and returns whether it is all that was asked for.
template <typename MakeCall, typename Check>
void FailEveryAllocation(const MakeCall& call, const Check& check) {
  for (const uint64_t count : {uint64_t{1}, FailingAllocations::kAllThatFollow}) {
    size_t incomplete = 0;
    uint64_t failed = 1;
    for (uint64_t first = 1; failed > 0; first += 1 + first / 64) {
      SCOPED_TRACE(testing::Message() << "allocation " << first << (count > 1 ? " and on" : ""));
      const auto engine = MakeCpuEngine({kThreads});
      const auto result = [&] {
        const FailingAllocations failing(first, count);
        auto made = call(*engine);
        failed = failing.failed();
        return made;
      }();
      if (!check(result)) ++incomplete;
      EXPECT_TRUE(check(call(*engine))) << "the engine did not recover";
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(incomplete, 0u);
  }
}

// The same for calls that answer with these bits, or that there is no memory.
template <typename MakeCall, typename BitsOf>
void FailEveryAllocation(const MakeCall& call, const std::string& expected, const BitsOf& bits_of) {
  FailEveryAllocation(call, [&](const auto& result) {
    if (result.ok()) {
      EXPECT_TRUE(bits_of(*result) == expected);
    } else {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted) << result.status();
    }
    return result.ok();
  });
}

// The results; nothing where there was no memory for them.
std::vector<AlignResult> AlignOrNothing(Engine& engine, const std::vector<AlignJob>& jobs) {
  try {
    return engine.Align(jobs);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void FailAlignments(const std::vector<AlignJob>& jobs) {
  std::vector<std::string> expected;
  for (const AlignResult& result : MakeCpuEngine({1})->Align(jobs)) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    expected.push_back(Bits(result));
  }
  size_t without_results = 0;
  FailEveryAllocation([&](Engine& engine) { return AlignOrNothing(engine, jobs); },
                      [&](const std::vector<AlignResult>& results) {
                        if (results.empty()) {
                          ++without_results;
                          return false;
                        }
                        bool all = true;
                        for (size_t i = 0; i < results.size(); ++i) {
                          if (results[i].status.ok()) {
                            EXPECT_TRUE(Bits(results[i]) == expected[i]) << "job " << i;
                          } else {
                            EXPECT_EQ(results[i].status.code(),
                                      absl::StatusCode::kResourceExhausted);
                            all = false;
                          }
                        }
                        return all;
                      });
  // The very first allocation is that of the results.
  EXPECT_EQ(without_results, 2u);
}

AlignJob JobOf(const Profile& profile, size_t points) {
  AlignJob job = SceneJob(profile);
  job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
  job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.02}, 0.01);
  job.want_trace = true;
  job.want_point_scores = true;
  return job;
}

TEST(AllocationFailureTest, ALargeScanSpreadOverThreadsIsAlignedOrRefused) {
  FailAlignments({JobOf(AutowareProfile(), 5000)});
}

TEST(AllocationFailureTest, EveryScanOfABatchIsAlignedOrRefused) {
  FailAlignments({JobOf(AutowareProfile(), 300), JobOf(PreciseProfile(), 300),
                  JobOf(AutowareProfile(), 600), JobOf(AutowareProfile(), 100)});
}

TEST(AllocationFailureTest, PosesAreScoredOrRefused) {
  ScoreRequest request = SceneScoreRequest(PreciseProfile().stages.back(), 70, SharedScene().map);
  request.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 200));
  request.want_point_scores = true;
  const std::string expected = Bits(MakeCpuEngine({1})->Score(request).value());
  FailEveryAllocation([&](Engine& engine) { return engine.Score(request); }, expected,
                      [](const ScoreResult& result) { return Bits(result); });
}

TEST(AllocationFailureTest, NodesAreBoundedOrRefused) {
  RandomBoundsOptions options;
  options.shape.columns_x = options.shape.columns_y = 128;
  options.shape.shifts = {0, 2};
  options.shape.tolerances = {0};
  RandomNumbers random(5);
  auto grid = BoundGrid::Make(options.shape, RandomColumns(options, random));
  ASSERT_TRUE(grid.ok()) << grid.status();
  BoundRequest request = RandomRequest(options, 0, 8, 8, 200, random);
  request.grid = MakeCpuEngine({1})->KeepBoundGrid(*std::move(grid)).value();
  request.scan = RandomScan(options, random);
  request.allowed_z.assign(1, ~uint64_t{0});
  request.min_hits = 8;
  const auto hits = MakeCpuEngine({1})->Bound(request);
  ASSERT_TRUE(hits.ok()) << hits.status();
  ASSERT_FALSE(hits->empty());
  const std::string expected = Bits(*hits);
  FailEveryAllocation([&](Engine& engine) { return engine.Bound(request); }, expected,
                      [](const std::vector<BoundHit>& some) { return Bits(some); });
}

TEST(AllocationFailureTest, TilesAndMapsAreBuiltOrRefused) {
  PointCloud cloud;
  RandomNumbers random(7);
  for (int i = 0; i < 400; ++i) {
    const Eigen::Vector3d at = random.InBox(6.0);
    cloud.PushBack(static_cast<float>(at.x()), static_cast<float>(at.y()),
                   static_cast<float>(at.z()));
  }
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto reference = MakeCpuEngine({1});
  const std::vector<std::shared_ptr<const ResidentTile>> tiles = {
      reference->BuildTile(cloud, statistics).value(),
      reference->BuildTile(cloud, statistics).value()};
  const auto map_of = [&](std::shared_ptr<const ResidentTile> tile) {
    return Bits(*reference->Compose({std::move(tile)}, statistics, nullptr).value());
  };
  FailEveryAllocation([&](Engine& engine) { return engine.BuildTile(cloud, statistics); },
                      map_of(tiles[0]), map_of);
  const auto previous = reference->Compose({tiles[0]}, statistics, nullptr).value();
  FailEveryAllocation(
      [&](Engine& engine) { return engine.Compose(tiles, statistics, previous.get()); },
      Bits(*reference->Compose(tiles, statistics, nullptr).value()),
      [](const std::shared_ptr<const ResidentMap>& map) { return Bits(*map); });
}

TEST(AllocationFailureTest, TilesAreExportedAndImportedOrRefused) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto reference = MakeCpuEngine({1});
  const auto tile = reference->BuildTile(SceneScan(ScenePose(), 200), statistics).value();
  const std::string expected = reference->ExportTile(*tile).value();
  FailEveryAllocation([&](Engine& engine) { return engine.ExportTile(*tile); }, expected,
                      [](const std::string& bytes) { return bytes; });
  FailEveryAllocation([&](Engine& engine) { return engine.ImportTile(expected); }, expected,
                      [&](const std::shared_ptr<const ResidentTile>& imported) {
                        return reference->ExportTile(*imported).value();
                      });
}

TEST(AllocationFailureTest, AScanIsFilteredOrRefused) {
  const PointCloud cloud = SceneScan(ScenePose(), 2000);
  FilterOptions options;
  options.voxel_leaf_m = 1.0;
  options.max_points = 200;
  const auto bits = [](const FilteredCloud& filtered) {
    std::string all;
    for (const auto* axis : {&filtered.cloud.x, &filtered.cloud.y, &filtered.cloud.z}) {
      for (const float value : *axis) Append(value, all);
    }
    return all;
  };
  FailEveryAllocation(
      [&](Engine& engine) { return engine.Filter(cloud, options, WorkClass::kTracking); },
      bits(*FilterCloud(cloud, options)), bits);
}

}  // namespace
}  // namespace voxloc
