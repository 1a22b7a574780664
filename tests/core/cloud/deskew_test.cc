// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "core/cloud/motion.h"
#include "core/geometry/euler.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr Eigen::Index kPoints = 200;

// Points that stand still, as a sensor sees them that drives and turns: integrated in small steps
// by the midpoint rule, without the exponential.
TEST(DeskewTest, PutsPointsWhereTheyWereAtTheReferenceTime) {
  const Twist twist{{20.0, -1.0, 0.3}, {0.1, -0.2, 0.9}};
  RandomNumbers random(7);
  PointCloud cloud;
  std::vector<Eigen::Vector3d> still;
  std::vector<float> time_s;
  constexpr double kOffsetS = 0.03;
  for (Eigen::Index i = 0; i < kPoints; ++i) {
    const Eigen::Vector3d point = random.InBox(40.0);
    const auto time = static_cast<float>(random.Uniform(-0.1, 0.1));
    const double duration_s = kOffsetS + static_cast<double>(time);
    constexpr int kSteps = 200;
    Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
    Eigen::Vector3d position = Eigen::Vector3d::Zero();
    const double step_s = duration_s / kSteps;
    const Eigen::Matrix3d half_a_turn = Eigen::AngleAxisd(twist.angular_rad_s.norm() * step_s / 2.0,
                                                          twist.angular_rad_s.normalized())
                                            .toRotationMatrix();
    for (int step = 0; step < kSteps; ++step) {
      rotation = rotation * half_a_turn;
      position += rotation * twist.linear_m_s * step_s;
      rotation = rotation * half_a_turn;
    }
    const Eigen::Vector3f seen = (rotation.transpose() * (point - position)).cast<float>();
    cloud.PushBack(seen.x(), seen.y(), seen.z());
    time_s.push_back(time);
    still.push_back(point);
  }
  Deskew(twist, time_s, kOffsetS, cloud);
  for (Eigen::Index i = 0; i < kPoints; ++i) {
    const auto index = static_cast<size_t>(i);
    EXPECT_LT((cloud.Point(index) - still[index]).norm(), 2e-4) << i;
  }
}

TEST(DeskewTest, WithoutTimesTheCloudMovesAsOne) {
  const Twist twist{{10.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  PointCloud cloud;
  cloud.PushBack(1.0F, 2.0F, 3.0F);
  PointCloud same = cloud;
  Deskew(twist, {}, 0.0, same);
  EXPECT_EQ(same.Point(0), cloud.Point(0));
  Deskew(twist, {}, -0.1, cloud);
  EXPECT_LT((cloud.Point(0) - Eigen::Vector3d(0.0, 2.0, 3.0)).norm(), 1e-6);
}

TEST(DeskewTest, KeepsTheOriginOfTheCloud) {
  const Twist twist{{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}};
  PointCloud cloud;
  cloud.origin = {100.0, 0.0, 0.0};
  cloud.PushBack(0.5F, 0.0F, 0.0F);
  const Eigen::Vector3d expected = IntegrateTwist(twist, 0.1) * cloud.Point(0);
  Deskew(twist, {0.1F}, 0.0, cloud);
  EXPECT_EQ(cloud.origin, Eigen::Vector3d(100.0, 0.0, 0.0));
  EXPECT_LT((cloud.Point(0) - expected).norm(), 1e-5);
}

}  // namespace
}  // namespace voxloc
