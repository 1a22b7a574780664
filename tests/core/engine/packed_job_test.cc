// SPDX-License-Identifier: Apache-2.0
//
// Jobs that were packed before: bit for bit the results of jobs that the engine packs itself,
// whatever the batch, and nothing of a packing that is of another job.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/parallel/thread_pool.h"
#include "tests/support/engine_test.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

class PackedJobTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(PackedJobTest);

// Every second of the points, in two groups.
std::shared_ptr<const PointGroups> TwoGroups(size_t points) {
  auto groups = std::make_shared<PointGroups>();
  for (uint32_t i = 0; i + 4 < points; i += 2) groups->places.push_back(i);
  const auto all = static_cast<uint32_t>(groups->places.size());
  groups->ends = {all / 3, all};
  return groups;
}

// Scans of different sizes, some with points that are not finite, with what estimates ask for.
std::vector<AlignJob> MixedJobs(const AlignJob& model, size_t count) {
  std::vector<AlignJob> jobs;
  for (size_t i = 0; i < count; ++i) {
    AlignJob job = model;
    auto scan = std::make_shared<PointCloud>(SceneScan(ScenePose(), 700 + 61 * (i % 9)));
    const size_t points = scan->size();
    if (i % 3 == 1) scan->x[points - 1] = std::numeric_limits<float>::quiet_NaN();
    job.scan = scan;
    job.map_T_base_guess =
        Displaced(ScenePose(), {0.3, -0.01 * static_cast<double>(i), 0.05}, 0.02);
    job.with_point_scores = i % 2 == 0;
    if (i % 4 != 3) {
      EvaluationPass groups;
      groups.groups = TwoGroups(points);
      groups.with_point_scores = true;
      EvaluationPass cloud;
      cloud.cloud = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 250 + i));
      cloud.score_stage = true;
      cloud.own_cell_only = true;
      cloud.with_point_scores = true;
      job.passes = {groups, cloud};
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<AlignJob> Packed(Engine& engine, std::vector<AlignJob> jobs) {
  ThreadPool pool(4);
  pool.ParallelFor(jobs.size(), [&](size_t i) { jobs[i].packed = engine.Pack(jobs[i]); });
  return jobs;
}

void ExpectSameResults(const std::vector<AlignResult>& a, const std::vector<AlignResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE("job " + std::to_string(i));
    ASSERT_TRUE(a[i].status.ok()) << a[i].status;
    EXPECT_TRUE(Bits(a[i]) == Bits(b[i]));
  }
}

// A few jobs and many: engines may bring them to a device in different ways.
TEST_P(PackedJobTest, ResultsAreThoseOfJobsThatTheEnginePacks) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (const size_t count : {1, 3, 40}) {
      SCOPED_TRACE(profile.name + ", " + std::to_string(count) + " jobs");
      const std::vector<AlignJob> jobs = MixedJobs(SceneJob(profile), count);
      const std::vector<AlignResult> expected = engine().Align(jobs);
      std::vector<AlignJob> packed = Packed(engine(), jobs);
      ExpectSameResults(engine().Align(packed), expected);
      // Packed and unpacked jobs share a batch.
      for (size_t i = 0; i < count; i += 2) packed[i].packed = nullptr;
      ExpectSameResults(engine().Align(packed), expected);
    }
  }
}

TEST_P(PackedJobTest, OneServesOtherGuessesAndOtherSearches) {
  AlignJob job = MixedJobs(SceneJob(PreciseProfile()), 1)[0];
  job.packed = engine().Pack(job);
  std::vector<AlignJob> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(WithGuess(job, Displaced(ScenePose(), {0.1 * i, 0.2, 0.0}, 0.01 * i)));
    jobs.back().with_trace = i % 2 == 0;
    jobs.back().profile.allowed_loss *= i % 2 == 0 ? 1.0 : 0.5;
    jobs.back().passes_only = i == 4;
  }
  std::vector<AlignJob> unpacked = jobs;
  for (AlignJob& other : unpacked) other.packed = nullptr;
  ExpectSameResults(engine().Align(jobs), engine().Align(unpacked));
}

TEST_P(PackedJobTest, APackingOfAnotherJobIsNotUsed) {
  const std::vector<AlignJob> jobs = MixedJobs(SceneJob(PreciseProfile()), 2);
  const auto packed = engine().Pack(jobs[0]);
  std::vector<AlignJob> others(4, jobs[0]);
  others[0].scan = jobs[1].scan;
  others[0].passes.clear();
  others[1].passes.pop_back();
  others[2].passes[0].groups = TwoGroups(jobs[0].scan->size() - 100);
  for (Stage& stage : others[3].profile.stages) stage.point_voxel_m = 0.0;
  std::vector<AlignJob> misled = others;
  for (AlignJob& job : misled) job.packed = packed;
  ExpectSameResults(engine().Align(misled), engine().Align(others));
}

TEST_P(PackedJobTest, WhatAlignRefusesIsRefusedAllTheSame) {
  AlignJob of_nothing = SceneJob(AutowareProfile());
  auto scan = std::make_shared<PointCloud>();
  for (int i = 0; i < 10; ++i) scan->PushBack(1.0F, std::numeric_limits<float>::infinity(), 0.0F);
  of_nothing.scan = scan;
  AlignJob without_scan = of_nothing;
  without_scan.scan = nullptr;
  AlignJob bad_groups = MixedJobs(SceneJob(AutowareProfile()), 1)[0];
  bad_groups.passes[0].groups = TwoGroups(2 * bad_groups.scan->size());
  AlignJob bad_guess = SceneJob(AutowareProfile());
  bad_guess.map_T_base_guess.translation.x() = std::numeric_limits<double>::quiet_NaN();
  std::vector<AlignJob> jobs = {of_nothing, without_scan, bad_groups, bad_guess};
  for (AlignJob& job : jobs) {
    job.packed = engine().Pack(job);
    const absl::Status status = AlignOne(engine(), job).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    AlignJob unpacked = job;
    unpacked.packed = nullptr;
    EXPECT_EQ(status, AlignOne(engine(), unpacked).status);
  }
}

}  // namespace
}  // namespace voxloc
