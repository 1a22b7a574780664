// SPDX-License-Identifier: Apache-2.0
//
// The same job gives the same bits on a device: alone, at any place in any batch, beside other
// callers, in another process.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/engine/engine_pair.h"
#include "tests/e2e/child_process.h"
#include "tests/support/mixed_batch.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// Under both profiles and two more, scans from 7 to 12,345 points, near starts and far ones.
std::vector<AlignJob> MixedJobs() {
  Profile direct = AutowareProfile();
  direct.name = "direct";
  direct.stages[0].search = NeighborSearch::kDirect7;
  Profile line_search = PreciseProfile();
  line_search.name = "line search";
  for (Stage& stage : line_search.stages) stage.line_search = true;
  std::vector<AlignJob> jobs;
  for (const size_t points : {size_t{7}, size_t{33}, size_t{300}, size_t{1500}, size_t{12345}}) {
    const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), points));
    for (const Profile& profile : {AutowareProfile(), PreciseProfile(), direct, line_search}) {
      AlignJob job = CudaSceneJob(profile);
      job.scan = scan;
      const double share = static_cast<double>(jobs.size() % 7) / 7.0;
      job.map_T_base_guess = Displaced(ScenePose(), {0.6 * share, -0.2, 0.02}, 0.04 * share);
      job.with_trace = jobs.size() % 2 == 0;
      job.with_point_scores = jobs.size() % 3 == 0;
      if (jobs.size() % 5 == 0) job.regularization_position_map = ScenePose().translation;
      jobs.push_back(job);
    }
  }
  return jobs;
}

const std::vector<std::string>& BitsAlone() {
  static const auto& bits = *new std::vector<std::string>([] {
    std::vector<std::string> made;
    for (const AlignJob& job : MixedJobs()) {
      const AlignResult result = AlignOne(CudaEngine(), job);
      EXPECT_TRUE(result.status.ok()) << result.status;
      made.push_back(Bits(result));
    }
    return made;
  }());
  return bits;
}

// Job `first + i * stride` of the mixed ones at place i.
void ExpectSameBitsInABatch(size_t size, size_t first, size_t stride) {
  const std::vector<AlignJob> mixed = MixedJobs();
  std::vector<AlignJob> jobs;
  for (size_t i = 0; i < size; ++i) jobs.push_back(mixed[(first + i * stride) % mixed.size()]);
  const std::vector<AlignResult> results = CudaEngine().Align(jobs);
  ASSERT_EQ(results.size(), size);
  size_t different = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t job = (first + i * stride) % mixed.size();
    if (Bits(results[i]) == BitsAlone()[job]) continue;
    if (++different == 1) {
      const AlignResult alone = AlignOne(CudaEngine(), mixed[job]);
      ADD_FAILURE() << "job " << job << " (" << mixed[job].profile.name << ", "
                    << mixed[job].scan->size() << " points) at place " << i << " of " << size
                    << ": status " << results[i].status << ", iterations " << results[i].iterations
                    << " instead of " << alone.iterations << ", apart by "
                    << TranslationDistance(results[i].map_T_base, alone.map_T_base)
                    << " m, scores before " << results[i].before.score << " and "
                    << alone.before.score;
    }
  }
  EXPECT_EQ(different, 0u) << "of a batch of " << size;
}

class CudaDeterminismTest : public CudaEngineTest {};

TEST_F(CudaDeterminismTest, TheSameJobAgainGivesTheSameBits) {
  const std::vector<AlignJob> jobs = MixedJobs();
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_TRUE(Bits(AlignOne(CudaEngine(), jobs[i])) == BitsAlone()[i])
          << "job " << i << ", round " << round;
    }
  }
}

TEST_F(CudaDeterminismTest, TheSizeOfTheBatchDoesNotChangeABit) {
  for (const size_t size : {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,  17,  31,
                            32, 33, 64, 65, 131, 132, 133, 200, 264, 265, 500, 1000}) {
    SCOPED_TRACE(size);
    ExpectSameBitsInABatch(size, size, 1);
  }
}

TEST_F(CudaDeterminismTest, ThePlaceInTheBatchDoesNotChangeABit) {
  for (const size_t size : {2, 3, 7, 8, 9, 64, 200}) {
    for (size_t first = 0; first < 20; ++first) ExpectSameBitsInABatch(size, first, 3);
  }
}

TEST_F(CudaDeterminismTest, ABatchOfOneJobManyTimesIsThatJob) {
  for (const size_t job : {size_t{3}, size_t{13}, size_t{17}}) {
    ExpectSameBitsInABatch(300, job, MixedJobs().size());
  }
}

TEST_F(CudaDeterminismTest, ScansKeepTheirScaleOfRotationsInAMixedBatch) {
  ExpectScansToKeepTheirScale(CudaEngine(), SceneMapPair().cuda);
}

TEST_F(CudaDeterminismTest, CallersAtOnceDoNotChangeABit) {
  const std::vector<AlignJob> jobs = MixedJobs();
  (void)BitsAlone();
  constexpr size_t kCallers = 8;
  std::atomic<size_t> different{0};
  std::vector<std::thread> callers;
  for (size_t c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 5; ++round) {
        if (c % 2 == 0) {
          const std::vector<AlignResult> results = CudaEngine().Align(jobs);
          for (size_t i = 0; i < jobs.size(); ++i) {
            different += Bits(results[i]) == BitsAlone()[i] ? 0 : 1;
          }
        } else {
          for (size_t i = c; i < c + jobs.size(); ++i) {
            const size_t job = i % jobs.size();
            different += Bits(AlignOne(CudaEngine(), jobs[job])) == BitsAlone()[job] ? 0 : 1;
          }
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different.load(), 0u) << "of " << kCallers * 5 * jobs.size();
}

// Calls of a few jobs, of one slice, and of several, which wait for each other's room on the
// device.
TEST_F(CudaDeterminismTest, SearchesOfManyCallersDoNotChangeABit) {
  const std::vector<AlignJob> mixed = MixedJobs();
  (void)BitsAlone();
  std::atomic<size_t> different{0};
  std::vector<std::thread> callers;
  for (const size_t size :
       {size_t{900}, size_t{1}, size_t{140}, size_t{700}, size_t{20}, size_t{300}}) {
    callers.emplace_back([&, size] {
      std::vector<AlignJob> jobs;
      for (size_t i = 0; i < size; ++i) {
        jobs.push_back(mixed[i % mixed.size()]);
        jobs.back().work_class = WorkClass::kSearching;
      }
      for (int round = 0; round < 3; ++round) {
        const std::vector<AlignResult> results = CudaEngine().Align(jobs);
        for (size_t i = 0; i < size; ++i) {
          different += Bits(results[i]) == BitsAlone()[i % mixed.size()] ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different.load(), 0u);
}

TEST_F(CudaDeterminismTest, BuildingAndScoringAtTheSameTimeDoNotChangeABit) {
  const std::vector<AlignJob> jobs = MixedJobs();
  (void)BitsAlone();
  std::atomic<bool> stop{false};
  std::atomic<size_t> failures{0};
  std::thread builder([&] {
    const PointCloud cloud = SceneMap();
    const std::vector<CellStatistics> statistics = AllStatistics();
    while (!stop) {
      const auto tile = CudaEngine().BuildTile(cloud, statistics);
      if (!tile.ok() || !CudaEngine().Compose({*tile}, statistics, nullptr).ok()) ++failures;
    }
  });
  std::thread scorer([&] {
    ScoreRequest request;
    request.map = jobs[0].map;
    request.scan = jobs[3 * 4].scan;
    request.stage = AutowareProfile().stages[0];
    request.map_T_base.assign(5000, ScenePose());
    while (!stop) failures += CudaEngine().Score(request).ok() ? 0 : 1;
  });
  size_t different = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector<AlignResult> results = CudaEngine().Align(jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      different += Bits(results[i]) == BitsAlone()[i] ? 0 : 1;
    }
  }
  stop = true;
  builder.join();
  scorer.join();
  EXPECT_EQ(different, 0u);
  EXPECT_EQ(failures.load(), 0u);
}

// 64-bit FNV-1a.
std::string Digest(const std::vector<std::string>& bits_of_jobs) {
  uint64_t hash = 14695981039346656037U;
  for (const std::string& bits : bits_of_jobs) {
    for (const char c : bits) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return "digest " + std::to_string(hash);
}

// And prints the digest, for AnotherProcessGivesTheSameBits.
TEST_F(CudaDeterminismTest, OneBatchGivesTheDigestOfTheJobsAlone) {
  std::vector<std::string> bits;
  for (const AlignResult& result : CudaEngine().Align(MixedJobs())) bits.push_back(Bits(result));
  ASSERT_EQ(bits.size(), BitsAlone().size());
  EXPECT_EQ(Digest(bits), Digest(BitsAlone()));
  // A digest that does not depend on every job could not differ.
  for (size_t i = 0; i < bits.size(); ++i) {
    std::vector<std::string> changed = bits;
    changed[i].back() = static_cast<char>(changed[i].back() ^ 1);
    EXPECT_NE(Digest(changed), Digest(bits)) << "job " << i;
  }
  std::cout << Digest(bits) << std::endl;
}

TEST_F(CudaDeterminismTest, AnotherProcessGivesTheSameBits) {
  std::array<char, PATH_MAX> path{};
  ASSERT_GT(readlink("/proc/self/exe", path.data(), path.size() - 1), 0);
  const ProcessResult other =
      RunProcess({"/usr/bin/env", "-u", "GTEST_OUTPUT", "-u", "GTEST_FILTER", path.data(),
                  "--gtest_filter=CudaDeterminismTest.OneBatchGivesTheDigestOfTheJobsAlone"});
  EXPECT_EQ(other.exit_code, 0) << other.out << other.error;
  const std::string expected = Digest(BitsAlone());
  EXPECT_NE(other.out.find(expected + "\n"), std::string::npos) << expected << " is not in\n"
                                                                << other.out;
}

}  // namespace
}  // namespace voxloc
