// SPDX-License-Identifier: Apache-2.0
//
// What a search reports on the device, step by step, is what it reports on the CPU; and its end.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "core/geometry/euler.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/trace_check.h"

namespace voxloc {
namespace {

class CudaSearchTest : public CudaEngineTest {
 protected:
  static std::vector<AlignJob> PerturbedJobs(const Profile& profile) {
    return PerturbedSceneJobs(CudaSceneJob(profile));
  }
  // So far away that the exact curvature points downhill.
  static std::vector<AlignJob> FarJobs() {
    std::vector<AlignJob> jobs = PerturbedJobs(AutowareProfile());
    for (AlignJob& job : jobs) {
      job.map_T_base_guess = Displaced(job.map_T_base_guess, {3.0, 2.0, 0.8}, 0.2);
    }
    return jobs;
  }
};

// Step by step. Ways part a little with every step, so only the beginning is held closely.
void ExpectSameWay(const AlignResult& cuda, const AlignResult& cpu, size_t steps,
                   bool line_search = false) {
  ASSERT_TRUE(cuda.status.ok()) << cuda.status;
  ASSERT_EQ(cuda.trace.empty(), cpu.trace.empty());
  for (size_t i = 0; i < std::min({steps, cuda.trace.size(), cpu.trace.size()}); ++i) {
    SCOPED_TRACE(i);
    const IterationTrace& a = cuda.trace[i];
    const IterationTrace& b = cpu.trace[i];
    // Over such short ways a line search compares scores that differ by little more than rounding.
    constexpr double kNearM = 0.05;
    if (line_search &&
        std::min({a.newton_step_norm, b.newton_step_norm, a.step_length, b.step_length}) < kNearM) {
      return;
    }
    EXPECT_EQ(a.stage, b.stage);
    EXPECT_EQ(a.reversed, b.reversed);
    EXPECT_LE(TranslationDistance(a.map_T_base_after, b.map_T_base_after), 1e-3);
    EXPECT_LE(RotationDistance(a.map_T_base_after, b.map_T_base_after), 0.005 * kRadiansPerDegree);
    EXPECT_NEAR(a.score.score, b.score.score, 1e-3 * b.score.score);
    EXPECT_NEAR(a.newton_step_norm, b.newton_step_norm, 1e-3 * b.newton_step_norm + 1e-4);
    EXPECT_NEAR(a.step_length, b.step_length, 1e-3 * b.step_length + 1e-4);
  }
}

TEST_F(CudaSearchTest, TheTraceTellsEveryStep) {
  for (const bool line_search : {false, true}) {
    for (Profile profile : {AutowareProfile(), PreciseProfile()}) {
      SCOPED_TRACE(profile.name);
      for (Stage& stage : profile.stages) stage.line_search = line_search;
      const ResultPair results =
          AlignOnBoth(PerturbedJobs(profile), {SceneMapPair().cpu, SceneMapPair().cuda});
      for (size_t i = 0; i < results.cuda.size(); ++i) {
        SCOPED_TRACE(i);
        ExpectConsistentTrace(results.cuda[i], profile);
        ExpectSameWay(results.cuda[i], results.cpu[i], 4, line_search);
        EXPECT_EQ(results.cuda[i].trace.back().stage, static_cast<int>(profile.stages.size()) - 1);
        EXPECT_EQ(results.cuda[i].reached_iteration_limit, results.cpu[i].reached_iteration_limit);
      }
    }
  }
}

TEST_F(CudaSearchTest, FarStartsAreTurnedRoundAsOnTheCpu) {
  const ResultPair results = AlignOnBoth(FarJobs(), SceneMapPair());
  int reversals = 0;
  int oscillations = 0;
  for (size_t i = 0; i < results.cuda.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectConsistentTrace(results.cuda[i], AutowareProfile());
    ExpectSameWay(results.cuda[i], results.cpu[i], 3);
    for (const IterationTrace& step : results.cuda[i].trace) reversals += step.reversed ? 1 : 0;
    oscillations += results.cuda[i].oscillations;
  }
  std::cout << reversals << " reversals, " << oscillations << " oscillations" << std::endl;
  EXPECT_GT(reversals, 0);
}

TEST_F(CudaSearchTest, DirectionsThatAreNotObservedStayOnTheDeviceToo) {
  for (Profile profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    // So large that some directions are left out.
    for (Stage& stage : profile.stages) stage.observed_ratio = 0.05;
    const ResultPair results =
        AlignOnBoth(PerturbedJobs(profile), {SceneMapPair().cpu, SceneMapPair().cuda});
    for (size_t i = 0; i < results.cuda.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSameWay(results.cuda[i], results.cpu[i], 3);
      for (const IterationTrace& step : results.cuda[i].trace) EXPECT_FALSE(step.reversed);
    }
  }
}

TEST_F(CudaSearchTest, PointScoresAreThoseOfTheCpu) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    AlignJob job = SceneJob(profile);
    job.with_point_scores = true;
    const ResultPair results = AlignOnBoth({job}, SceneMapPair());
    ASSERT_EQ(results.cuda[0].point_scores.size(), results.cpu[0].point_scores.size());
    double largest = 0.0;
    for (size_t i = 0; i < results.cpu[0].point_scores.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(results.cuda[0].point_scores[i]) -
                                           static_cast<double>(results.cpu[0].point_scores[i])));
    }
    // The poses differ by what the alignments differ.
    EXPECT_LE(largest, 0.02);
    std::cout << profile.name << ": largest difference of a point's score " << largest << std::endl;
  }
}

// A search that has no other end: steps never get shorter than an epsilon of zero.
TEST_F(CudaSearchTest, ADeadlineEndsALongSearch) {
  AlignJob job = CudaSceneJob(AutowareProfile());
  job.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 200'000));
  job.map_T_base_guess = Displaced(ScenePose(), {0.3, 0.2, 0.0}, 0.02);
  Stage& stage = job.profile.stages[0];
  stage.step_floor = false;
  stage.epsilon = 0.0;
  stage.max_step = 1e-5;
  stage.max_iterations = 1000;
  (void)AlignOne(CudaEngine(), CudaSceneJob(AutowareProfile()));  // whatever is done once only
  job.stop.deadline = absl::Now() + absl::Milliseconds(5);
  const absl::Time start = absl::Now();
  const AlignResult result = AlignOne(CudaEngine(), job);
  std::cout << result.iterations << " iterations in " << absl::Now() - start << std::endl;
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.termination, Termination::kDeadline);
  EXPECT_LT(result.iterations, 1000);
  EXPECT_TRUE(result.map_T_base.translation.allFinite());
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
}

}  // namespace
}  // namespace voxloc
