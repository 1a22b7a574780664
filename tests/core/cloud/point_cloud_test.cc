// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/point_cloud.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;

constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

TEST(PointCloudTest, BoundsLeaveOutWhatIsNotFinite) {
  PointCloud cloud;
  cloud.origin = {1000.0, 2000.0, 3000.0};
  EXPECT_EQ(ComputeBounds(cloud).finite_points, 0u);
  cloud.PushBack(kNanF, 99.0F, 99.0F);
  EXPECT_EQ(ComputeBounds(cloud).finite_points, 0u);
  cloud.PushBack(1.0F, -2.0F, 3.0F);
  cloud.PushBack(-1.0F, 5.0F, std::numeric_limits<float>::infinity());
  cloud.PushBack(-4.0F, 0.5F, 7.0F);
  const Bounds bounds = ComputeBounds(cloud);
  EXPECT_EQ(bounds.finite_points, 2u);
  EXPECT_EQ(bounds.min, Eigen::Vector3d(996.0, 1998.0, 3003.0));
  EXPECT_EQ(bounds.max, Eigen::Vector3d(1001.0, 2000.5, 3007.0));
}

TEST(PointCloudTest, TransformMovesPointsAndKeepsOffsetsSmall) {
  const PointCloud scan = RandomCloud(300, 4, true);
  Pose map_T_base;
  map_T_base.translation = {4'000'000.125, -700'000.5, 30.0};
  map_T_base.rotation = Eigen::AngleAxisd(1.1, Eigen::Vector3d(1, -2, 3).normalized());
  const PointCloud moved = Transform(map_T_base, scan);
  EXPECT_EQ(moved.origin, map_T_base.translation);
  EXPECT_EQ(moved.intensity, scan.intensity);
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector4d expected = map_T_base.Matrix() * scan.Point(i).homogeneous();
    ASSERT_LT((moved.Point(i) - expected.head<3>()).norm(), 2e-5);
    ASSERT_LT(moved.Offset(i).norm(), 250.0F);
  }
}

TEST(PointCloudTest, TransformTurnsTheOriginToo) {
  PointCloud cloud;
  cloud.origin = {10.0, 0.0, 0.0};
  cloud.PushBack(1.0F, 0.0F, 0.0F);
  Pose pose;
  pose.rotation = Eigen::AngleAxisd(M_PI_2, Eigen::Vector3d::UnitZ());
  pose.translation = {0.0, 0.0, 5.0};
  EXPECT_LT((Transform(pose, cloud).Point(0) - Eigen::Vector3d(0, 11, 5)).norm(), 1e-6);
}

TEST(PointCloudTest, AppendExpressesPointsAroundTheFirstOrigin) {
  PointCloud cloud = RandomCloud(10, 1, false);
  cloud.origin = {100.0, 200.0, 0.0};
  PointCloud more = RandomCloud(20, 2, false);
  more.origin = {150.5, 180.25, 1.0};
  PointCloud both = cloud;
  Append(more, both);
  ASSERT_EQ(both.size(), 30u);
  EXPECT_EQ(both.origin, cloud.origin);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(both.Point(i), cloud.Point(i));
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_LT((both.Point(10 + i) - more.Point(i)).norm(), 3e-5);
  }
}

TEST(PointCloudTest, AppendKeepsIntensityOnlyWhereBothHaveIt) {
  const PointCloud with = RandomCloud(3, 1, true);
  const PointCloud without = RandomCloud(2, 2, false);

  PointCloud both = with;
  Append(with, both);
  EXPECT_EQ(both.intensity.size(), 6u);
  both = with;
  Append(without, both);
  EXPECT_FALSE(both.has_intensity());
  both = without;
  Append(with, both);
  EXPECT_FALSE(both.has_intensity());
  EXPECT_EQ(both.size(), 5u);
  PointCloud from_nothing;
  Append(with, from_nothing);
  EXPECT_TRUE(SameBits(from_nothing, with));
  Append(PointCloud(), from_nothing);
  EXPECT_TRUE(SameBits(from_nothing, with));
}

TEST(PointCloudTest, RootMeanSquareRangeCountsTheOriginAndLeavesOutWhatIsNotFinite) {
  PointCloud cloud;
  EXPECT_EQ(RootMeanSquareRange(cloud), 0.0);
  cloud.origin = {3.0, 0.0, 0.0};
  cloud.PushBack(0.0F, 4.0F, 0.0F);   // 5 m away
  cloud.PushBack(-3.0F, 0.0F, 1.0F);  // 1 m away
  cloud.PushBack(std::nanf(""), 0.0F, 0.0F);
  EXPECT_DOUBLE_EQ(RootMeanSquareRange(cloud), std::sqrt(13.0));
}

}  // namespace
}  // namespace voxloc
