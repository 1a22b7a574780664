// SPDX-License-Identifier: Apache-2.0
//
// Work of a size that the engine has seen before needs no new memory but for its results.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/allocation_hooks.h"
#include "tests/support/engine_scene.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

uint64_t AllocationsOfAlign(Engine& engine, absl::Span<const AlignJob> jobs) {
  ResetAllocationCounts();
  const std::vector<AlignResult> results = engine.Align(jobs);
  const uint64_t allocations = CountedAllocations().allocations;
  for (const AlignResult& result : results) EXPECT_TRUE(result.status.ok()) << result.status;
  return allocations;
}

AlignJob SteadyJob(const Profile& profile, size_t points) {
  AlignJob job = SceneJob(profile);
  job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
  job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.02}, 0.02);
  return job;
}

// Alone, in a batch, and as a large scan spread over threads.
TEST(SteadyStateTest, ARepeatedAlignmentAllocatesItsResultsOnly) {
  const auto engine = MakeCpuEngine({1});
  const auto team = MakeCpuEngine({3});
  const auto expect_one = [](Engine& used, const AlignJob& job, size_t count) {
    const std::vector<AlignJob> jobs(count, job);
    EXPECT_GT(AllocationsOfAlign(used, jobs), 1u);
    EXPECT_EQ(AllocationsOfAlign(used, jobs), 1u)
        << job.profile.name << ", " << count << " of " << job.scan->size();
  };
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (const size_t points : {1500, 12345}) {
      expect_one(*engine, SteadyJob(profile, points), 1);
    }
  }
  expect_one(*MakeCpuEngine({1}), SteadyJob(PreciseProfile(), 1500), 5);
  expect_one(*team, SteadyJob(PreciseProfile(), 12345), 1);
}

TEST(SteadyStateTest, RepeatedScoringAllocatesItsResultsOnly) {
  const auto engine = MakeCpuEngine({1});
  const ScoreRequest request =
      SceneScoreRequest(PreciseProfile().stages.back(), 40, SharedScene().map);
  ASSERT_TRUE(engine->Score(request).ok());
  ResetAllocationCounts();
  const auto result = engine->Score(request);
  const uint64_t allocations = CountedAllocations().allocations;
  ASSERT_TRUE(result.ok());
  // The list of scores, and what checking the request's stage takes.
  EXPECT_LE(allocations, 2u);
}

}  // namespace
}  // namespace voxloc
