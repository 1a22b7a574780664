// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/verdict.h"

#include <gtest/gtest.h>

namespace voxloc {
namespace {

// Every reason to doubt a result at once; then one after another goes, in the order in which
// AlignmentStatus lists them.
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
  estimate.rival = RivalPose{Pose{{2.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()}, 2.9};
  AcceptanceLimits limits;
  limits.min_matched_ratio = 0.6;
  limits.min_confidence = 0.5;
  GateOptions gate;
  const Profile profile;
  const auto judge = [&] { return JudgeResult(result, &estimate, profile, gate, limits); };

  EXPECT_EQ(judge().status, AlignmentStatus::kDeadline);
  result.termination = Termination::kMaxIterations;
  EXPECT_EQ(judge().status, AlignmentStatus::kNotConverged);
  result.oscillations = 4;
  gate.max_oscillations = 3;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowScore);
  result.after.nearest_voxel_likelihood = 3.0;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowOverlap);
  EXPECT_FALSE(judge().accepted);
  result.after.matched_points = 60;
  EXPECT_EQ(judge().status, AlignmentStatus::kLowConfidence);
  EXPECT_FALSE(judge().accepted);
  estimate.confidence->value = 0.5;
  EXPECT_EQ(judge().status, AlignmentStatus::kAmbiguous);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "a pose 2 m away has nvtl 2.9");
  estimate.rival.reset();
  EXPECT_EQ(judge().status, AlignmentStatus::kDegenerate);
  EXPECT_TRUE(judge().accepted);
  EXPECT_EQ(judge().detail, "not observed: y");
  estimate.degeneracy->axes[1] = AxisObservation::kWeak;
  EXPECT_EQ(judge().status, AlignmentStatus::kOk);
  estimate.degeneracy.reset();
  EXPECT_EQ(judge().status, AlignmentStatus::kOk);
  result.after.matched_points = 0;
  EXPECT_EQ(judge().status, AlignmentStatus::kOutOfMap);
}

}  // namespace
}  // namespace voxloc
