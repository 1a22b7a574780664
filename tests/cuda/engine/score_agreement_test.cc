// SPDX-License-Identifier: Apache-2.0
//
// Scores of many poses on the device: those of the CPU engine, of double, and of an alignment.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/cuda/engine/near_reference.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

class CudaScoreTest : public CudaEngineTest {
 protected:
  static ScoreRequest Request(const Stage& stage, size_t poses) {
    return SceneScoreRequest(stage, poses, SceneMapPair().cuda);
  }

  static std::vector<Stage> Stages() {
    std::vector<Stage> stages = PreciseProfile().stages;
    stages.push_back(AutowareProfile().stages[0]);
    stages.push_back(stages.back());
    stages.back().search = NeighborSearch::kDirect7;
    return stages;
  }
};

TEST_F(CudaScoreTest, EveryPoseAndEveryPointIsScoredAsByBruteForceAndTheCpu) {
  for (const Stage& stage : Stages()) {
    SCOPED_TRACE(ToString(stage.cells));
    ScoreRequest request = Request(stage, 20);
    request.with_point_scores = true;
    const auto result = CudaEngine().Score(request);
    ASSERT_TRUE(result.ok()) << result.status();
    request.map = SceneMapPair().cpu;
    const auto on_cpu = CpuEngine().Score(request);
    ASSERT_TRUE(on_cpu.ok());
    const size_t points = request.scan->size();
    ASSERT_EQ(result->poses.size(), 20u);
    ASSERT_EQ(result->point_scores.size(), 20u * points);
    const reference::NearReference brute_force(AllCells(*SceneMapPair().cpu, stage.cells),
                                               stage.cells.cell_size_m);
    const double peak = -reference::ScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m).d1;
    Deviations largest;
    double largest_point = 0.0;
    for (size_t i = 0; i < 20; ++i) {
      SCOPED_TRACE(i);
      const reference::Evaluation expected =
          brute_force.Evaluate(*request.scan, ChartFromPose(request.map_T_base[i]), stage);
      ExpectScoresAgree(result->poses[i], expected, 1e-5, largest);
      if (result->poses[i].pairs == on_cpu->poses[i].pairs) {
        EXPECT_NEAR(result->poses[i].score, on_cpu->poses[i].score, 1e-5 * on_cpu->poses[i].score);
      }
      for (size_t p = 0; p < points; ++p) {
        const auto score = static_cast<double>(result->point_scores[i * points + p]);
        largest_point = std::max(largest_point, std::abs(score - expected.best[p]) / peak);
      }
    }
    EXPECT_LE(largest_point, 2e-4);
    std::cout << ToString(stage.cells) << ": " << largest << ", points " << largest_point
              << std::endl;
  }
}

// With and without point scores, whatever the number of poses and so of chunks.
TEST_F(CudaScoreTest, CompanyDoesNotChangeABit) {
  const ScoreRequest request = Request(AutowareProfile().stages[0], 5000);
  const auto all = CudaEngine().Score(request);
  ASSERT_TRUE(all.ok()) << all.status();
  for (const size_t count : {size_t{1}, size_t{3}, size_t{64}, size_t{1001}}) {
    for (const bool point_scores : {false, true}) {
      ScoreRequest some = request;
      some.with_point_scores = point_scores;
      some.map_T_base.assign(request.map_T_base.end() - static_cast<std::ptrdiff_t>(count),
                             request.map_T_base.end());
      const auto result = CudaEngine().Score(some);
      ASSERT_TRUE(result.ok()) << result.status();
      ASSERT_EQ(result->poses.size(), count);
      EXPECT_EQ(result->point_scores.empty(), !point_scores);
      size_t different = 0;
      for (size_t i = 0; i < count; ++i) {
        const PoseScore& a = result->poses[i];
        const PoseScore& b = all->poses[5000 - count + i];
        const bool same = a.score == b.score && a.pairs == b.pairs &&
                          a.matched_points == b.matched_points &&
                          a.nearest_voxel_likelihood == b.nearest_voxel_likelihood &&
                          a.transform_probability == b.transform_probability;
        different += same ? 0 : 1;
      }
      EXPECT_EQ(different, 0u) << count << " poses";
    }
  }
}

// At the guess, and at the end of an alignment that may not move.
TEST_F(CudaScoreTest, IsAnAlignmentsScoreBitByBit) {
  for (Profile profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    // Sums are the same in the same order of the points only, which thinned stages change.
    for (Stage& stage : profile.stages) stage.point_voxel_m = 0.0;
    ScoreRequest request = Request(profile.stages[profile.score_stage], 50);
    request.with_point_scores = true;
    std::vector<AlignJob> jobs;
    for (const Pose& pose : request.map_T_base) {
      jobs.push_back(CudaSceneJob(profile));
      jobs.back().map_T_base_guess = pose;
      jobs.back().with_point_scores = true;
      jobs.push_back(jobs.back());
      jobs.back().stop.cancelled = std::make_shared<const std::atomic<bool>>(true);
    }
    const auto scored = CudaEngine().Score(request);
    ASSERT_TRUE(scored.ok()) << scored.status();
    const std::vector<AlignResult> aligned = CudaEngine().Align(jobs);
    ASSERT_EQ(aligned.size(), jobs.size());
    const size_t points = request.scan->size();
    for (size_t i = 0; i < request.map_T_base.size(); ++i) {
      SCOPED_TRACE(i);
      const AlignResult& free = aligned[2 * i];
      const AlignResult& still = aligned[2 * i + 1];
      ASSERT_TRUE(free.status.ok()) << free.status;
      ASSERT_TRUE(still.status.ok()) << still.status;
      for (const PoseScore& score : {free.before, still.before, still.after}) {
        EXPECT_EQ(score.score, scored->poses[i].score);
        EXPECT_EQ(score.transform_probability, scored->poses[i].transform_probability);
        EXPECT_EQ(score.nearest_voxel_likelihood, scored->poses[i].nearest_voxel_likelihood);
        EXPECT_EQ(score.matched_points, scored->poses[i].matched_points);
        EXPECT_EQ(score.pairs, scored->poses[i].pairs);
      }
      ASSERT_EQ(still.point_scores.size(), points);
      const auto row = scored->point_scores.begin() + static_cast<std::ptrdiff_t>(i * points);
      EXPECT_TRUE(std::equal(still.point_scores.begin(), still.point_scores.end(), row));
    }
  }
}

}  // namespace
}  // namespace voxloc
