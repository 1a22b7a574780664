// SPDX-License-Identifier: Apache-2.0
//
// The same job gives the same bits with any number of threads, alone and in any batch.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/support/engine_test.h"
#include "tests/support/mixed_batch.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// Small scans and one of over 10,000 points, under both profiles. The map belongs to `engine`.
std::vector<AlignJob> Jobs(Engine& engine) {
  const std::vector<PointCloud> tiles = CutIntoTiles(SceneMap(), 3, 3, {-31, -31}, {20.7, 20.7});
  const auto map = LoadMap(engine, tiles, AllStatistics());
  std::vector<AlignJob> jobs;
  for (const size_t points : {size_t{7}, size_t{300}, size_t{1500}, size_t{12345}}) {
    const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      AlignJob job;
      job.map = map;
      job.scan = scan;
      job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.02}, 0.02);
      job.profile = profile;
      job.with_trace = true;
      job.with_point_scores = true;
      jobs.push_back(job);
    }
  }
  return jobs;
}

std::vector<std::string> Alone(Engine& engine, const std::vector<AlignJob>& jobs) {
  std::vector<std::string> bits;
  for (const AlignJob& job : jobs) {
    const AlignResult result = AlignOne(engine, job);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_FALSE(result.point_scores.empty());
    bits.push_back(Bits(result));
  }
  return bits;
}

// At every place of a batch, and in a batch too small for the threads.
void ExpectSameBitsInBatches(Engine& engine, std::vector<AlignJob> jobs,
                             const std::vector<std::string>& expected) {
  const std::vector<AlignResult> batch = engine.Align(jobs);
  std::rotate(jobs.begin(), jobs.begin() + 3, jobs.end());
  const std::vector<AlignResult> rotated = engine.Align(jobs);
  const std::vector<AlignResult> pair = engine.Align(absl::MakeConstSpan(jobs).subspan(3, 2));
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_TRUE(Bits(batch[i]) == expected[i]) << "job " << i << " in the batch";
    EXPECT_TRUE(Bits(rotated[i]) == expected[(i + 3) % jobs.size()])
        << "place " << i << " of the rotated batch";
  }
  EXPECT_TRUE(Bits(pair[0]) == expected[6]);
  EXPECT_TRUE(Bits(pair[1]) == expected[7]);
}

TEST(CpuDeterminismTest, ThreadsDoNotChangeABit) {
  const auto one = MakeCpuEngine({1});
  const std::vector<std::string> expected = Alone(*one, Jobs(*one));
  for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const auto engine = MakeCpuEngine({threads});
    EXPECT_EQ(engine->Info().threads, threads);
    const std::vector<AlignJob> jobs = Jobs(*engine);
    const std::vector<std::string> alone = Alone(*engine, jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_TRUE(alone[i] == expected[i]) << "job " << i << " alone";
    }
    ExpectSameBitsInBatches(*engine, jobs, expected);
  }
}

class DeterminismTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(DeterminismTest);

TEST_P(DeterminismTest, BatchesDoNotChangeABit) {
  const std::vector<AlignJob> jobs = Jobs(engine());
  ExpectSameBitsInBatches(engine(), jobs, Alone(engine(), jobs));
}

TEST_P(DeterminismTest, ScansKeepTheirScaleOfRotationsInAMixedBatch) {
  ExpectScansToKeepTheirScale(engine(), scene_map());
}

TEST_P(DeterminismTest, CallersAtOnceDoNotChangeABit) {
  const std::vector<AlignJob> jobs = Jobs(engine());
  const std::vector<std::string> expected = Alone(engine(), jobs);
  std::vector<std::vector<AlignResult>> results(4);
  std::vector<std::thread> callers;
  for (size_t c = 0; c < results.size(); ++c) {
    callers.emplace_back([&, c] {
      if (c % 2 == 0) {
        results[c] = engine().Align(jobs);
      } else {
        for (const AlignJob& job : jobs) results[c].push_back(AlignOne(engine(), job));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& of_caller : results) {
    ASSERT_EQ(of_caller.size(), jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) EXPECT_TRUE(Bits(of_caller[i]) == expected[i]);
  }
}

}  // namespace
}  // namespace voxloc
