// SPDX-License-Identifier: Apache-2.0
//
// Host memory that cannot be had in the middle of a call: the call is answered RESOURCE_EXHAUSTED,
// nothing of it is left on the device, and the engine goes on.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/allocation_hooks.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// Several slices of jobs whose results need memory of their own.
std::vector<AlignJob> ManyJobs(const std::shared_ptr<const ResidentMap>& map) {
  std::vector<AlignJob> jobs;
  const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 2000));
  for (size_t i = 0; i < 5000; ++i) {
    AlignJob job = CudaSceneJob(AutowareProfile());
    job.map = map;
    job.scan = scan;
    job.map_T_base_guess = Displaced(ScenePose(), {0.4, -0.3, 0.1}, 0.03);
    job.profile.stages[0].epsilon = 1e-9;
    job.profile.stages[0].step_floor = false;
    job.with_trace = i % 16 == 0;
    jobs.push_back(job);
  }
  return jobs;
}

void ExpectAnsweredOrExhausted(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kResourceExhausted) << status;
}

class CudaAllocationFailureTest : public CudaEngineTest {
 protected:
  static std::shared_ptr<const ResidentMap> NewMap() {
    return LoadMap(CudaEngine(), {SceneMap()}, AllStatistics());
  }
};

TEST_F(CudaAllocationFailureTest, ACallThatFailsHalfwayLeavesNothingOnTheDevice) {
  auto map = NewMap();
  ASSERT_NE(map, nullptr);
  std::vector<AlignJob> jobs = ManyJobs(map);
  (void)CudaEngine().Align(jobs);
  const absl::Time begin = absl::Now();
  ResetAllocationCounts();
  (void)CudaEngine().Align(jobs);
  const uint64_t allocations = CountedAllocations().allocations;
  const absl::Duration whole = absl::Now() - begin;
  ASSERT_GT(allocations, 100u);
  size_t exhausted = 0;
  absl::Duration longest;
  for (int part = 1; part < 20; ++part) {
    std::vector<AlignResult> results;
    {
      const FailingAllocations failing(allocations * static_cast<uint64_t>(part) / 20 + 1);
      try {
        results = CudaEngine().Align(jobs);
      } catch (const std::bad_alloc&) {
        continue;  // of the results themselves
      }
    }
    const absl::Time returned = absl::Now();
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    longest = std::max(longest, absl::Now() - returned);
    for (const AlignResult& result : results) {
      if (!result.status.ok()) {
        ASSERT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted) << result.status;
      }
    }
    exhausted += results.front().status.ok() ? 0 : 1;
  }
  std::cout << "a whole call " << whole << ", " << exhausted << " failed; at most " << longest
            << " of work left behind" << std::endl;
  EXPECT_GT(exhausted, 0u);
  // A slice in flight would be a fifth of the call.
  EXPECT_LT(longest, whole / 20);
}

TEST_F(CudaAllocationFailureTest, WhateverAllocationFailsTheEngineGoesOnAndKeepsItsBits) {
  AlignJob job = CudaSceneJob(PreciseProfile());
  const std::string bits = Bits(AlignOne(CudaEngine(), job));
  for (uint64_t first = 1; first < 200; ++first) {
    auto map = NewMap();
    ASSERT_NE(map, nullptr);
    job.map = std::move(map);
    std::vector<AlignJob> jobs(3, job);
    ScoreRequest request = SceneScoreRequest(job.profile.stages[0], 100, job.map);
    {
      const FailingAllocations failing(first);
      try {
        for (const AlignResult& result : CudaEngine().Align(jobs)) {
          ExpectAnsweredOrExhausted(result.status);
        }
      } catch (const std::bad_alloc&) {
        EXPECT_LE(first, 2u) << "only the results themselves may fail by an exception";
      }
    }
    {
      const FailingAllocations failing(first);
      const auto scored = CudaEngine().Score(request);
      ExpectAnsweredOrExhausted(scored.status());
    }
    {
      const PointCloud cloud = SceneMap();
      const std::vector<CellStatistics> statistics = AllStatistics();
      const FailingAllocations failing(first);
      const auto tile = CudaEngine().BuildTile(cloud, statistics);
      ExpectAnsweredOrExhausted(tile.status());
    }
    {
      const PointCloud cloud = SceneMap();
      FilterOptions options;
      options.voxel_leaf_m = 0.5;
      const FailingAllocations failing(first);
      const auto filtered = CudaEngine().Filter(cloud, options, WorkClass::kTracking);
      ExpectAnsweredOrExhausted(filtered.status());
    }
    ASSERT_TRUE(CudaEngine().Health().ok()) << CudaEngine().Health();
    EXPECT_TRUE(Bits(AlignOne(CudaEngine(), job)) == bits) << first;
  }
}

}  // namespace
}  // namespace voxloc
