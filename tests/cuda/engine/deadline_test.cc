// SPDX-License-Identifier: Apache-2.0
//
// Deadlines count from when a job is handed over, however long the device leaves it waiting; and
// what a call is for decides who waits for whom, not what comes out.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

constexpr size_t kPointsPerScan = 2000;

// A search that goes on for minutes: its steps are a millionth of a metre.
AlignJob EndlessJob(const std::shared_ptr<const PointCloud>& scan) {
  AlignJob job = CudaSceneJob(AutowareProfile());
  job.scan = scan;
  job.map_T_base_guess = Displaced(ScenePose(), {0.5, -0.4, 0.1}, 0.05);
  Stage& stage = job.profile.stages[0];
  stage.max_step = 1e-6;
  stage.epsilon = 0.0;
  stage.step_floor = false;
  stage.max_iterations = 1000;  // the largest that is allowed
  return job;
}

class CudaDeadlineTest : public CudaEngineTest {};

// Slices of a long batch fill the device one after another. With deadlines that counted from the
// beginning of a block, each slice in flight would take the whole time again.
TEST_F(CudaDeadlineTest, JobsThatWaitBehindOthersEndAtTheirDeadlineToo) {
  const auto scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), kPointsPerScan));
  std::vector<AlignJob> jobs(6000, EndlessJob(scan));
  (void)CudaEngine().Align({jobs.data(), 64});  // memory and maps are there
  const absl::Time begin = absl::Now();
  for (AlignJob& job : jobs) job.stop.deadline = absl::InfiniteFuture();
  (void)CudaEngine().Align({jobs.data(), 1000});
  const absl::Duration of_a_slice = absl::Now() - begin;
  const absl::Duration allowed = of_a_slice / 3;
  const absl::Time start = absl::Now();
  for (AlignJob& job : jobs) job.stop.deadline = start + allowed;
  const std::vector<AlignResult> results = CudaEngine().Align(jobs);
  const absl::Duration took = absl::Now() - start;
  std::cout << "a slice " << of_a_slice << "; with " << allowed << " allowed, the batch took "
            << took << std::endl;
  EXPECT_LT(took, 1.6 * allowed + absl::Milliseconds(10));
  for (const AlignResult& result : results) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_EQ(result.termination, Termination::kDeadline);
  }
}

TEST_F(CudaDeadlineTest, ADeadlineThatIsNotReachedChangesNoBit) {
  AlignJob job = CudaSceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.1}, 0.02);
  const std::string without = Bits(AlignOne(CudaEngine(), job));
  for (const absl::Duration left :
       {absl::Seconds(10), absl::Hours(1), absl::Hours(24 * 365 * 200)}) {
    job.stop.deadline = absl::Now() + left;
    EXPECT_TRUE(Bits(AlignOne(CudaEngine(), job)) == without) << left;
  }
}

TEST_F(CudaDeadlineTest, ADeadlineThatHasPassedEndsAJobAtOnce) {
  AlignJob job = CudaSceneJob(PreciseProfile());
  for (const absl::Time deadline :
       {absl::InfinitePast(), absl::UnixEpoch(), absl::Now() - absl::Seconds(1)}) {
    job.stop.deadline = deadline;
    const AlignResult result = AlignOne(CudaEngine(), job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kDeadline);
    EXPECT_EQ(result.iterations, 0);
  }
}

class CudaWorkClassTest : public CudaEngineTest {};

TEST_F(CudaWorkClassTest, NoClassChangesABitAlsoWhereTheyAreMixed) {
  std::vector<AlignJob> jobs;
  std::vector<std::string> bits;
  for (size_t i = 0; i < 40; ++i) {
    AlignJob job = CudaSceneJob(i % 2 == 0 ? AutowareProfile() : PreciseProfile());
    job.map_T_base_guess =
        Displaced(ScenePose(), {0.01 * static_cast<double>(i), -0.2, 0.05}, 0.02);
    job.with_trace = true;
    job.work_class = WorkClass::kTracking;
    bits.push_back(Bits(AlignOne(CudaEngine(), job)));
    job.work_class = i % 3 == 0   ? WorkClass::kSearching
                     : i % 3 == 1 ? WorkClass::kTracking
                                  : WorkClass::kMapping;
    jobs.push_back(job);
  }
  const std::vector<AlignResult> results = CudaEngine().Align(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(results[i].status.ok()) << results[i].status;
    EXPECT_TRUE(Bits(results[i]) == bits[i]) << i;
  }
  ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 300, SceneMapPair().cuda);
  request.work_class = WorkClass::kScoring;
  const auto scoring = CudaEngine().Score(request);
  request.work_class = WorkClass::kTracking;
  const auto tracking = CudaEngine().Score(request);
  ASSERT_TRUE(scoring.ok() && tracking.ok());
  for (size_t i = 0; i < request.map_T_base.size(); ++i) {
    EXPECT_EQ(scoring->poses[i].score, tracking->poses[i].score);
  }
}

// The same batch of 40 scans of 30,000 points, which is large for tracking, beside callers that
// score all the time.
TEST_F(CudaWorkClassTest, TrackingGoesBeforeScoringHoweverLargeItsBatch) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> scorers;
  for (int i = 0; i < 3; ++i) {
    scorers.emplace_back([&stop] {
      ScoreRequest request;
      request.map = SceneMapPair().cuda;
      request.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), kPointsPerScan));
      request.stage = AutowareProfile().stages[0];
      request.map_T_base.assign(200'000, ScenePose());
      while (!stop) EXPECT_TRUE(CudaEngine().Score(request).ok());
    });
  }
  AlignJob job = CudaSceneJob(AutowareProfile());
  job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 30'000));
  std::vector<AlignJob> jobs(40, job);
  const auto median_of = [&jobs](WorkClass work_class) {
    for (AlignJob& each : jobs) each.work_class = work_class;
    std::vector<absl::Duration> took;
    for (int i = 0; i < 31; ++i) {
      const absl::Time start = absl::Now();
      (void)CudaEngine().Align(jobs);
      took.push_back(absl::Now() - start);
    }
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
  };
  const absl::Duration tracking = median_of(WorkClass::kTracking);
  const absl::Duration searching = median_of(WorkClass::kSearching);
  stop = true;
  for (std::thread& scorer : scorers) scorer.join();
  std::cout << "beside scoring: as tracking " << tracking << ", as searching " << searching
            << std::endl;
  EXPECT_LT(tracking, searching);
}

}  // namespace
}  // namespace voxloc
