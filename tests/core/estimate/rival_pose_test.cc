// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/estimate/scan_estimate.h"
#include "core/geometry/euler.h"

namespace voxloc {
namespace {

Pose At(double x, double yaw = 0.0) {
  return {{x, 0.0, 0.0}, RotationFromRosAngles(0.0, 0.0, yaw)};
}

// A result at the origin with an NVTL of 3, and alignments from 1 m beside it.
class RivalPoseTest : public ::testing::Test {
 protected:
  void SetUp() override { result_.after.nearest_voxel_likelihood = 3.0; }

  void Add(const Pose& start, const Pose& end, double nvtl) {
    report_.offset_map_T_base.push_back(start);
    report_.aligned_map_T_base.push_back(end);
    report_.nvtl.push_back(nvtl);
  }
  // The rival's NVTL.
  std::optional<double> Find() const {
    const std::optional<RivalPose> rival = FindRival(result_, report_);
    if (!rival.has_value()) return std::nullopt;
    return rival->nvtl;
  }

  AlignResult result_;
  CovarianceReport report_;
};

TEST_F(RivalPoseTest, ThereIsNoneWhereAllAlignmentsComeBack) {
  EXPECT_EQ(Find(), std::nullopt);
  Add(At(1.0), At(0.01), 3.0);
  Add(At(-1.0), At(-0.9), 3.0);
  EXPECT_EQ(Find(), std::nullopt);
}

TEST_F(RivalPoseTest, IsTheBestOfTheDistinctEndsThatScoreNearlyAsWell) {
  Add(At(1.0), At(0.0), 3.0);
  Add(At(-1.0), At(-2.0), 2.8);
  Add(At(1.0), At(2.0), 2.9);
  EXPECT_EQ(Find(), 2.9);
  EXPECT_EQ(FindRival(result_, report_)->map_T_base.translation.x(), 2.0);
}

TEST_F(RivalPoseTest, MustScoreOverNineTenthsOfTheResult) {
  Add(At(1.0), At(2.0), 2.69);
  EXPECT_EQ(Find(), std::nullopt);
  Add(At(1.0), At(2.0), 2.71);
  EXPECT_EQ(Find(), 2.71);
}

TEST_F(RivalPoseTest, MayDifferInHeadingAlone) {
  Add(At(0.5), At(0.0, 0.15), 3.0);
  EXPECT_EQ(Find(), std::nullopt);
  Add(At(0.5), At(0.0, 0.2), 2.95);
  EXPECT_EQ(Find(), 2.95);
}

// In a corridor an alignment stays where it was put: that is no second optimum.
TEST_F(RivalPoseTest, IsNotAnAlignmentThatStayedWhereItStarted) {
  Add(At(1.1), At(1.15), 3.0);
  EXPECT_EQ(Find(), std::nullopt);
}

}  // namespace
}  // namespace voxloc
