// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/tracking/verdict.h"

namespace voxloc {
namespace {

Pose PlanarPose(double x, double yaw_rad) {
  return Pose{{x, 0.0, 0.0},
              Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

TEST(OdometryAnchor, KnowsNothingBeforeItIsSet) {
  OdometryAnchor anchor;
  anchor.Update(PlanarPose(1.0, 0.0));
  EXPECT_FALSE(anchor.Prior(0.02).has_value());
}

TEST(OdometryAnchor, CarriesThePoseAlongTheVehiclesHeading) {
  OdometryAnchor anchor;
  // The map sees the vehicle's x axis to the north, odometry to the east.
  anchor.Set(PlanarPose(100.0, M_PI / 2.0), PlanarPose(5.0, 0.0));
  anchor.Update(PlanarPose(8.0, 0.0));
  const auto prior = anchor.Prior(0.02);
  ASSERT_TRUE(prior.has_value());
  EXPECT_EQ(prior->source, PriorSource::kOdometry);
  EXPECT_TRUE(prior->map_T_base.translation.isApprox(Eigen::Vector3d(100.0, 3.0, 0.0), 1e-12));
}

TEST(OdometryAnchor, GrowsLessSureWithTheWayAndNotWithTheDistance) {
  OdometryAnchor anchor;
  anchor.Set(PlanarPose(0.0, 0.0), PlanarPose(0.0, 0.0));
  // There and back again, turning by 0.1 rad each time.
  for (int i = 1; i <= 4; ++i) anchor.Update(PlanarPose(i % 2 == 1 ? 10.0 : 0.0, 0.1 * i));
  const auto prior = anchor.Prior(0.02);
  ASSERT_TRUE(prior.has_value());
  EXPECT_NEAR(prior->map_T_base.translation.norm(), 0.0, 1e-12);
  EXPECT_NEAR(std::sqrt(prior->covariance(0, 0)), 0.02 * 40.0, 1e-12);
  EXPECT_NEAR(std::sqrt(prior->covariance(5, 5)), 0.02 * 0.4, 1e-12);
  EXPECT_EQ(prior->covariance(0, 1), 0.0);

  anchor.Set(PlanarPose(7.0, 0.0), PlanarPose(0.0, 0.4));
  EXPECT_EQ(anchor.Prior(0.02)->covariance(0, 0), 0.0);
}

TEST(OdometryAnchor, IsLostWhereOdometryIsNotKnown) {
  OdometryAnchor anchor;
  anchor.Set(PlanarPose(0.0, 0.0), PlanarPose(0.0, 0.0));
  anchor.Update(std::nullopt);
  anchor.Update(PlanarPose(1.0, 0.0));
  EXPECT_FALSE(anchor.Prior(0.02).has_value());
}

}  // namespace
}  // namespace voxloc
