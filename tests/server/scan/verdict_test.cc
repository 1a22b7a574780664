// SPDX-License-Identifier: Apache-2.0

#include "server/scan/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/small_town.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(Verdict, KnowsWhenAScanCannotTouchTheMap) {
  Bounds map;
  map.min = {-10.0, -10.0, 0.0};
  map.max = {10.0, 10.0, 5.0};
  map.finite_points = 100;
  const auto at = [](double x) { return Pose{{x, 0.0, 0.0}, Eigen::Quaterniond::Identity()}; };
  EXPECT_TRUE(CanTouch(map, at(0.0), 1.0, 2.0));
  EXPECT_TRUE(CanTouch(map, at(50.0), 39.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(50.0), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(map, at(1e300), 30.0, 2.0));
  EXPECT_FALSE(CanTouch(Bounds(), at(0.0), 30.0, 2.0));
}

TEST(Verdict, AScanReachesAsFarAsItsFarthestPoint) {
  PointCloud scan;
  EXPECT_EQ(ReachOf(scan), 0.0);
  scan.PushBack(3.0F, 0.0F, 4.0F);
  scan.PushBack(0.0F, -4.5F, 0.0F);
  EXPECT_DOUBLE_EQ(ReachOf(scan), 5.0);
}

// Every reason to doubt a result at once; then one after another goes, in the order in which
// AlignmentStatus gives them.
TEST(Verdict, GivesTheFirstReasonToDoubtAResult) {
  AlignResult result;
  result.after.points = 100;
  result.after.matched_points = 50;
  result.after.nearest_voxel_likelihood = 1.0;
  result.reached_iteration_limit = true;
  result.termination = Termination::kDeadline;
  ScanEstimate estimate;
  estimate.confidence.emplace();
  estimate.confidence->value = 0.2;
  estimate.degeneracy.emplace();
  estimate.degeneracy->axes[1] = AxisObservation::kUnobserved;
  const Pose away{{2.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  estimate.covariance.offset_map_T_base = {Pose{{1.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}};
  estimate.covariance.aligned_map_T_base = {away};
  estimate.covariance.nvtl = {2.9};
  AlignOptions options;
  options.min_matched_ratio = 0.6;
  options.min_confidence = 0.5;
  Profile profile;
  const auto judge = [&] { return JudgeResult(result, &estimate, profile, options); };

  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_DEADLINE);
  result.termination = Termination::kMaxIterations;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_NOT_CONVERGED);
  result.oscillations = 4;
  options.gate.max_oscillations = 3;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_SCORE);
  result.after.nearest_voxel_likelihood = 3.0;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_OVERLAP);
  EXPECT_FALSE(judge().accepted);
  result.after.matched_points = 60;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_LOW_CONFIDENCE);
  EXPECT_FALSE(judge().accepted);
  estimate.confidence->value = 0.5;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_AMBIGUOUS);
  EXPECT_TRUE(judge().accepted);
  estimate.covariance.nvtl = {2.6};
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_DEGENERATE);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "not observed: y");
  estimate.degeneracy->axes[1] = AxisObservation::kWeak;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OK);
  estimate.degeneracy.reset();
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OK);
  result.after.matched_points = 0;
  EXPECT_EQ(judge().status, v1::ALIGNMENT_STATUS_OUT_OF_MAP);
}

}  // namespace
}  // namespace voxloc::server
