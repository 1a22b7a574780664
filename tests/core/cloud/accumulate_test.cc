// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "core/cloud/motion.h"
#include "core/geometry/euler.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

PointCloud SomeCloud(uint64_t seed, size_t points) {
  RandomNumbers random(seed);
  PointCloud cloud;
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3f point = random.InBox(4.0).cast<float>();
    cloud.PushBack(point.x(), point.y(), point.z());
  }
  return cloud;
}

std::vector<PlacedCloud> SomeEarlierClouds() {
  const Pose first{{1.5, -0.5, 0.1}, RotationFromRosAngles(0.02, -0.01, 0.3)};
  const Pose second{{-2.0, 0.3, 0.0}, RotationFromRosAngles(0.0, 0.03, -1.1)};
  return {{first, std::make_shared<const PointCloud>(SomeCloud(2, 150))},
          {second, std::make_shared<const PointCloud>(SomeCloud(3, 250))}};
}

// By homogeneous matrices.
Eigen::Vector3d MovedBy(const Pose& pose, const Eigen::Vector3d& point) {
  return (pose.Matrix() * point.homogeneous()).head<3>();
}

std::array<long, 3> VoxelOf(const Eigen::Vector3d& point, double leaf_m) {
  return {std::lround(std::floor(point.x() / leaf_m)), std::lround(std::floor(point.y() / leaf_m)),
          std::lround(std::floor(point.z() / leaf_m))};
}

TEST(AccumulateTest, PutsEarlierPointsBehindTheNewestInTheirOrder) {
  const PointCloud newest = SomeCloud(1, 100);
  const std::vector<PlacedCloud> earlier = SomeEarlierClouds();
  const PointCloud joint = AccumulateClouds(newest, earlier, 0.0);
  ASSERT_EQ(joint.size(), 500);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(joint.Point(i), newest.Point(i));
  size_t place = 100;
  for (const PlacedCloud& placed : earlier) {
    for (size_t i = 0; i < placed.cloud->size(); ++i, ++place) {
      const Eigen::Vector3d expected = MovedBy(placed.target_T_cloud, placed.cloud->Point(i));
      EXPECT_LT((joint.Point(place) - expected).norm(), 1e-5) << place;
    }
  }
}

TEST(AccumulateTest, KeepsWhatWasSeenLastInAVoxel) {
  constexpr double kLeafM = 1.0;
  const PointCloud newest = SomeCloud(1, 100);
  const std::vector<PlacedCloud> earlier = SomeEarlierClouds();
  const PointCloud joint = AccumulateClouds(newest, earlier, kLeafM);
  std::set<std::array<long, 3>> occupied;
  std::vector<Eigen::Vector3d> expected;
  for (size_t i = 0; i < newest.size(); ++i) {
    expected.push_back(newest.Point(i));
    occupied.insert(VoxelOf(newest.Point(i), kLeafM));
  }
  for (const PlacedCloud& placed : earlier) {
    for (size_t i = 0; i < placed.cloud->size(); ++i) {
      const Eigen::Vector3d point = MovedBy(placed.target_T_cloud, placed.cloud->Point(i));
      if (occupied.insert(VoxelOf(point, kLeafM)).second) expected.push_back(point);
    }
  }
  ASSERT_EQ(joint.size(), expected.size());
  EXPECT_GT(joint.size(), 150U);
  EXPECT_LT(joint.size(), 450U);
  for (size_t i = 0; i < joint.size(); ++i) {
    EXPECT_LT((joint.Point(i) - expected[i]).norm(), 1e-5) << i;
  }
}

TEST(AccumulateTest, GoesByWherePointsLieWhateverTheOriginsAre) {
  PointCloud newest = SomeCloud(1, 50);
  newest.origin = {1000.0, 0.0, -3.0};
  PointCloud far = SomeCloud(2, 50);
  far.origin = {0.0, 500.0, 0.0};
  const Pose pose{{10.0, 20.0, 0.5}, RotationFromRosAngles(0.0, 0.0, 0.7)};
  const PointCloud joint =
      AccumulateClouds(newest, {{pose, std::make_shared<const PointCloud>(far)}}, 0.0);
  ASSERT_EQ(joint.size(), 100U);
  EXPECT_EQ(joint.Point(7), newest.Point(7));
  EXPECT_LT((joint.Point(57) - MovedBy(pose, far.Point(7))).norm(), 1e-3);
}

TEST(AccumulateTest, LeavesOutEarlierPointsThatAreNotFinite) {
  PointCloud earlier = SomeCloud(2, 3);
  earlier.y[1] = std::numeric_limits<float>::quiet_NaN();
  const PointCloud joint = AccumulateClouds(
      SomeCloud(1, 2), {{Pose(), std::make_shared<const PointCloud>(earlier)}}, 0.0);
  EXPECT_EQ(joint.size(), 4U);
}

}  // namespace
}  // namespace voxloc
