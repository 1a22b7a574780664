// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/estimate/quality/scan_shape.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// A ring of posts around the sensor, 20 m away.
PointCloud Ring(const Eigen::Vector3d& centre) {
  PointCloud cloud;
  for (int i = 0; i < 360; ++i) {
    const double turn = i * M_PI / 180.0;
    cloud.PushBack(static_cast<float>(centre.x() + 20.0 * std::cos(turn)),
                   static_cast<float>(centre.y() + 20.0 * std::sin(turn)),
                   static_cast<float>(centre.z()));
  }
  return cloud;
}

TEST(FreeSpaceTest, LiesOnTheRaysAndClearOfTheirEnds) {
  const Eigen::Vector3d sensor(1.0, -2.0, 1.8);
  const FreeSpace space = SampleFreeSpace(Ring(sensor), sensor);
  EXPECT_EQ(space.rays, kMaxFreeSpaceRays);
  ASSERT_EQ(space.ray.size(), space.points_base->size());
  ASSERT_GT(space.points_base->size(), 20 * space.rays);
  for (size_t i = 0; i < space.ray.size(); ++i) {
    const Eigen::Vector3d from_sensor = space.points_base->Point(i) - sensor;
    EXPECT_LE(from_sensor.norm(), 16.01);
    EXPECT_NEAR(from_sensor.z(), 0.0, 1e-5);
    EXPECT_LT(space.ray[i], space.rays);
  }
}

TEST(FreeSpaceTest, KeepsAwayFromPointsOfTheScan) {
  PointCloud cloud = Ring(Eigen::Vector3d::Zero());
  cloud.PushBack(8.0F, 0.0F, 0.0F);
  const FreeSpace space = SampleFreeSpace(cloud, Eigen::Vector3d::Zero());
  for (size_t i = 0; i < space.points_base->size(); ++i) {
    EXPECT_GT((space.points_base->Point(i) - Eigen::Vector3d(8.0, 0.0, 0.0)).norm(), 1.5);
  }
}

// Cubes of 1.5 m from the least coordinates on, as the header's clearance has them.
TEST(FreeSpaceTest, IsWhatIsLeftOfTheRaysByComparingAllPoints) {
  RandomNumbers random(9);
  PointCloud cloud;
  for (int i = 0; i < 700; ++i) {
    const Eigen::Vector3d place = random.InBox(30.0);
    cloud.PushBack(static_cast<float>(place.x()), static_cast<float>(place.y()),
                   static_cast<float>(0.2 * place.z()));
  }
  cloud.x[11] = std::numeric_limits<float>::infinity();
  Eigen::Array3f low = cloud.Offset(0);
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (cloud.IsFinite(i)) low = low.min(cloud.Offset(i).array());
  }
  const auto cube_of = [&low](const Eigen::Vector3f& offset) -> Eigen::Array3i {
    return ((offset.array() - low) / 1.5F).floor().cast<int>();
  };
  const Eigen::Vector3d sensor(0.5, 0.2, 9.0);
  const FreeSpace space = SampleFreeSpace(cloud, sensor);
  size_t left = 0;
  size_t samples = 0;
  for (size_t i = 0; i < cloud.size(); i += cloud.size() / kMaxFreeSpaceRays) {
    if (!cloud.IsFinite(i) || samples == kMaxFreeSpaceRays) continue;
    ++samples;
    const Eigen::Vector3f ray = cloud.Offset(i) - sensor.cast<float>();
    const float end_m = std::min(ray.norm() - 1.0F, 0.8F * ray.norm());
    const float step_m = std::max(0.5F, end_m / 24.0F);
    for (int k = 1; k <= static_cast<int>(end_m / step_m); ++k) {
      const Eigen::Vector3f offset = ray * (static_cast<float>(k) * step_m / ray.norm());
      const Eigen::Array3i cube = cube_of(sensor.cast<float>() + offset);
      bool free = true;
      for (size_t j = 0; j < cloud.size() && free; ++j) {
        free = !cloud.IsFinite(j) || (cube_of(cloud.Offset(j)) - cube).abs().maxCoeff() > 1;
      }
      if (!free) continue;
      ASSERT_LT(left, space.ray.size());
      EXPECT_LE((space.points_base->Offset(left++) - offset).norm(), 1e-5F);
    }
  }
  EXPECT_EQ(left, space.ray.size());
  EXPECT_GT(left, 200U);
}

TEST(FreeSpaceTest, IsEmptyForNearOrMissingPoints) {
  PointCloud cloud;
  EXPECT_EQ(SampleFreeSpace(cloud, Eigen::Vector3d::Zero()).rays, 0U);
  cloud.PushBack(0.5F, 0.0F, 0.0F);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  const FreeSpace space = SampleFreeSpace(cloud, Eigen::Vector3d::Zero());
  EXPECT_EQ(space.rays, 0U);
  EXPECT_TRUE(space.points_base->empty());
}

TEST(FreeSpaceTest, StaysBoundedForDistantPoints) {
  PointCloud cloud;
  cloud.PushBack(1e6F, 1e6F, 1e6F);
  cloud.PushBack(-1e6F, 1e6F, 10.0F);
  const FreeSpace space = SampleFreeSpace(cloud, Eigen::Vector3d::Zero());
  EXPECT_LE(space.points_base->size(), 100U);
}

}  // namespace
}  // namespace voxloc
