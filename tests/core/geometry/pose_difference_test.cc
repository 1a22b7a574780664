// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "core/geometry/covariance.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

// A turn about a map axis is the same vector whatever the heading, and goes the short way.
TEST(PoseDifferenceTest, RotationIsAboutTheMapsAxesAndTheShortWay) {
  const Eigen::AngleAxisd heading(1.1, Eigen::Vector3d::UnitZ());
  Pose from;
  from.translation = {1.0, 2.0, 3.0};
  from.rotation = heading;
  Pose to;
  to.translation = {1.5, 1.0, 3.25};
  to.rotation = Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitX()) * heading;
  Eigen::Matrix<double, 6, 1> expected;
  expected << 0.5, -1.0, 0.25, 0.3, 0.0, 0.0;
  EXPECT_TRUE(FixedAxesDifference(from, to).isApprox(expected, 1e-12));
  EXPECT_TRUE(FixedAxesDifference(to, from).isApprox(-expected, 1e-12));

  to.rotation.coeffs() *= -1.0;  // the same rotation
  EXPECT_TRUE(FixedAxesDifference(from, to).isApprox(expected, 1e-12));
}

TEST(PoseDifferenceTest, OfAPoseWithItselfIsZero) {
  Pose pose;
  pose.rotation = Eigen::AngleAxisd(-2.0, Eigen::Vector3d(1.0, 2.0, 2.0) / 3.0);
  EXPECT_LE(FixedAxesDifference(pose, pose).norm(), 1e-12);
}

TEST(PoseDifferenceTest, LeadsFromOnePoseToTheOther) {
  Pose from;
  from.translation = {4e5, -20.0, 3.0};
  from.rotation = Eigen::AngleAxisd(1.2, Eigen::Vector3d(1.0, -2.0, 0.5).normalized());
  Pose to;
  to.translation = {4e5 + 1.0, -22.0, 3.5};
  to.rotation = Eigen::AngleAxisd(-0.7, Eigen::Vector3d(0.3, 0.1, 1.0).normalized());
  const Pose led = ApplyFixedAxesDifference(from, FixedAxesDifference(from, to));
  EXPECT_LT(TranslationDistance(led, to), 1e-9);
  EXPECT_LT(RotationDistance(led, to), 1e-9);
  const Pose stayed = ApplyFixedAxesDifference(from, Eigen::Matrix<double, 6, 1>::Zero());
  EXPECT_EQ(stayed.translation, from.translation);
  EXPECT_EQ(stayed.rotation.coeffs(), from.rotation.coeffs());
}

}  // namespace
}  // namespace voxloc
