// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/twist.h"

#include <gtest/gtest.h>

#include <cmath>

namespace voxloc {
namespace {

Pose Somewhere() {
  Pose pose;
  pose.translation = {100.0, -20.0, 3.0};
  pose.rotation = Eigen::AngleAxisd(0.9, Eigen::Vector3d(0.2, -0.3, 0.9).normalized());
  return pose;
}

// Driven in many small steps in the base's own axes.
Pose Driven(Pose pose, const Twist& twist, double duration_s) {
  constexpr int kSteps = 100'000;
  const double step_s = duration_s / kSteps;
  const Eigen::Vector3d turn = step_s * twist.angular_rad_s;
  const Pose step = {step_s * twist.linear_m_s,
                     Eigen::Quaterniond(Eigen::AngleAxisd(turn.norm(), turn.normalized()))};
  for (int i = 0; i < kSteps; ++i) pose = pose * step;
  return pose;
}

TEST(TwistTest, TheMeanTwistOfADriveIsTheTwistThatItWasDrivenWith) {
  const Twist twist = {{8.0, 0.5, -0.2}, {0.02, -0.03, 0.4}};
  const Pose start = Somewhere();
  const Twist mean = MeanTwist(start, Driven(start, twist, 0.1), 0.1);
  // Along the chord of an arc of 0.04 rad, which is shorter by 0.04^2 / 24.
  EXPECT_LT((mean.linear_m_s - twist.linear_m_s).norm(), 8.0 * 1e-4);
  EXPECT_LT((mean.angular_rad_s - twist.angular_rad_s).norm(), 1e-6);
}

TEST(TwistTest, TheFixedAxesRateIsHowAPoseChanges) {
  const Twist twist = {{8.0, 0.5, -0.2}, {0.02, -0.03, 0.4}};
  const Pose start = Somewhere();
  constexpr double kShortS = 1e-4;
  const Pose later = Driven(start, twist, kShortS);
  const Eigen::Matrix<double, 6, 1> rate = FixedAxesRate(twist, start);
  EXPECT_LT(((later.translation - start.translation) / kShortS - rate.head<3>()).norm(), 1e-3);
  const Eigen::AngleAxisd turn(later.rotation * start.rotation.conjugate());
  EXPECT_LT((turn.angle() / kShortS * turn.axis() - rate.tail<3>()).norm(), 1e-4);
}

TEST(TwistTest, TheMotionDuringATimeIsThatOfManySmallSteps) {
  const Twist twist = {{8.0, 0.5, -0.2}, {0.2, -0.3, 1.4}};
  for (const double duration_s : {1.0, 0.1, -0.4, 1e-5}) {
    const Pose moved = IntegrateTwist(twist, duration_s);
    const Pose driven = Driven(Pose(), twist, duration_s);
    EXPECT_LT(TranslationDistance(moved, driven), 2e-4 * std::abs(duration_s)) << duration_s;
    EXPECT_LT(RotationDistance(moved, driven), 1e-7) << duration_s;
  }
  const Twist straight = {{8.0, 0.5, -0.2}, {0.0, 0.0, 0.0}};
  EXPECT_LT((IntegrateTwist(straight, 0.5).translation - 0.5 * straight.linear_m_s).norm(), 1e-12);
}

TEST(TwistTest, ASensorMovesWithItsBase) {
  const Twist base_twist = {{8.0, 0.5, -0.2}, {0.2, -0.3, 1.4}};
  const Pose base_T_sensor = {{1.2, -0.7, 1.9}, Somewhere().rotation};
  const Pose by_sensor = IntegrateTwist(SensorTwist(base_twist, base_T_sensor), 0.3);
  const Pose by_base = base_T_sensor.Inverse() * IntegrateTwist(base_twist, 0.3) * base_T_sensor;
  EXPECT_LT(TranslationDistance(by_sensor, by_base), 1e-12);
  EXPECT_LT(RotationDistance(by_sensor, by_base), 1e-7);
}

}  // namespace
}  // namespace voxloc
