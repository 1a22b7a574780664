// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/scan_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

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
  const ScanShape shape = ShapeOf(cloud, ScanRays(), kLevel);
  const size_t pole = cloud.size() - 2;
  EXPECT_EQ(shape.raised[pole], 1);
  EXPECT_EQ(shape.raised[cloud.size() - 1], 0);
  // The kerb and the ground itself are not.
  EXPECT_LT(3 * std::count(shape.raised.begin(), shape.raised.end(), 1),
            static_cast<ptrdiff_t>(cloud.size()));
}

TEST(ScanShapeTest, TheTiltOfTheGuessIsTakenOff) {
  const PointCloud cloud = ClimbingGround();
  const Eigen::Quaterniond level_from_base(
      Eigen::AngleAxisd(std::atan(0.1), Eigen::Vector3d::UnitY()));
  const ScanShape shape = ShapeOf(cloud, ScanRays(), level_from_base);
  EXPECT_EQ(std::count(shape.raised.begin(), shape.raised.end(), 1), 1);
  EXPECT_EQ(shape.raised[cloud.size() - 2], 1);
}

// A scan of two that were joined: what the second sensor saw was seen from elsewhere.
TEST(ScanShapeTest, RaysGoOnlyToThePointsThatWereSeenFromTheirSensor) {
  PointCloud seen;
  for (int y = -10; y <= 10; ++y) seen.PushBack(20.0F, static_cast<float>(y), 1.0F);
  PointCloud joint = seen;
  for (int y = -10; y <= 10; ++y) joint.PushBack(-20.0F, static_cast<float>(y), 1.0F);
  ScanRays rays;
  rays.sensor_position_base = {0.0, 0.0, 1.0};
  const auto low_x = [&] {
    const FreeSpace free_space = ShapeOf(joint, rays, kLevel).free_space;
    return ComputeBounds(*free_space.points_base).min.x();
  };
  EXPECT_LT(low_x(), -10.0);
  rays.points_base = std::make_shared<const PointCloud>(seen);
  EXPECT_GT(low_x(), -1e-3);
  EXPECT_EQ(ShapeOf(joint, rays, kLevel).raised.size(), joint.size());
}

TEST(ScanShapeTest, AnEmptyScanHasNoShape) {
  const ScanShape shape = ShapeOf(PointCloud(), ScanRays(), kLevel);
  EXPECT_TRUE(shape.raised.empty());
  EXPECT_EQ(shape.free_space.rays, 0U);
}

}  // namespace
}  // namespace voxloc
