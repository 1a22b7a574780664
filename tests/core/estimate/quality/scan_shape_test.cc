// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace voxloc {
namespace {

const Eigen::Quaterniond kLevel = Eigen::Quaterniond::Identity();

// Ground that climbs by a tenth, a kerb and a pole on it.
PointCloud ClimbingGround() {
  PointCloud cloud;
  for (int x = -10; x <= 10; ++x) {
    for (int y = -10; y <= 10; ++y) {
      cloud.PushBack(static_cast<float>(x), static_cast<float>(y), 0.1F * static_cast<float>(x));
    }
  }
  cloud.PushBack(2.0F, 3.0F, 0.2F + 0.15F);
  cloud.PushBack(2.0F, 4.0F, 0.2F + 2.0F);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 5.0F);
  return cloud;
}

TEST(ScanShapeTest, RaisedIsWhatStandsClearOfTheGroundNearby) {
  const PointCloud cloud = ClimbingGround();
  const ScanShape shape = ShapeOf(cloud, Eigen::Vector3d::Zero(), kLevel);
  const size_t pole = cloud.size() - 2;
  EXPECT_EQ(shape.raised[pole], 1);
  EXPECT_EQ(shape.raised[cloud.size() - 1], 0);
  size_t raised = 0;
  for (const uint8_t flag : shape.raised) raised += flag;
  // The kerb and the ground itself are not.
  EXPECT_LT(raised, cloud.size() / 3);
}

TEST(ScanShapeTest, TheTiltOfTheGuessIsTakenOff) {
  const PointCloud cloud = ClimbingGround();
  const Eigen::Quaterniond level_from_base(
      Eigen::AngleAxisd(std::atan(0.1), Eigen::Vector3d::UnitY()));
  const ScanShape shape = ShapeOf(cloud, Eigen::Vector3d::Zero(), level_from_base);
  size_t raised = 0;
  for (const uint8_t flag : shape.raised) raised += flag;
  EXPECT_EQ(raised, 1U);
  EXPECT_EQ(shape.raised[cloud.size() - 2], 1);
}

TEST(ScanShapeTest, AnEmptyScanHasNoShape) {
  const ScanShape shape = ShapeOf(PointCloud(), Eigen::Vector3d::Zero(), kLevel);
  EXPECT_TRUE(shape.raised.empty());
  EXPECT_EQ(shape.free_space.rays, 0U);
}

}  // namespace
}  // namespace voxloc
