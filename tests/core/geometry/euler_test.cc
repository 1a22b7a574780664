// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/euler.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace voxloc {
namespace {

using Eigen::AngleAxisd;
using Eigen::Matrix3d;
using Eigen::Vector3d;

Matrix3d About(const Vector3d& axis, double angle) {
  return AngleAxisd(angle, axis).toRotationMatrix();
}

Matrix3d ChartReference(double roll, double pitch, double yaw) {
  return About(Vector3d::UnitX(), roll) * About(Vector3d::UnitY(), pitch) *
         About(Vector3d::UnitZ(), yaw);
}

Matrix3d RosReference(double roll, double pitch, double yaw) {
  return About(Vector3d::UnitZ(), yaw) * About(Vector3d::UnitY(), pitch) *
         About(Vector3d::UnitX(), roll);
}

double Difference(const Matrix3d& a, const Matrix3d& b) { return (a - b).cwiseAbs().maxCoeff(); }

// Every combination of a ring of angles, with pitches at and close to the poles.
std::vector<Vector3d> ManyAngles() {
  std::vector<double> ring;
  for (int i = -11; i <= 12; ++i) ring.push_back(M_PI * i / 12.0);
  std::vector<double> pitches;
  for (int i = -11; i <= 11; ++i) pitches.push_back(M_PI_2 * i / 12.0);
  for (const double gap : {0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3}) {
    pitches.push_back(M_PI_2 - gap);
    pitches.push_back(-M_PI_2 + gap);
  }
  std::vector<Vector3d> angles;
  for (const double roll : ring) {
    for (const double pitch : pitches) {
      for (const double yaw : ring) angles.emplace_back(roll, pitch, yaw);
    }
  }
  return angles;
}

void ExpectInRange(const Vector3d& angles) {
  EXPECT_GT(angles.x(), -M_PI);
  EXPECT_LE(angles.x(), M_PI);
  EXPECT_GE(angles.y(), -M_PI_2);
  EXPECT_LE(angles.y(), M_PI_2);
  EXPECT_GT(angles.z(), -M_PI);
  EXPECT_LE(angles.z(), M_PI);
}

TEST(EulerTest, ChartIsRollTimesPitchTimesYawAndRosTheReverse) {
  for (const Vector3d& a : ManyAngles()) {
    ASSERT_LT(Difference(RotationFromChartAngles(a.x(), a.y(), a.z()),
                         ChartReference(a.x(), a.y(), a.z())),
              1e-14)
        << a.transpose();
    ASSERT_LT(Difference(RotationFromRosAngles(a.x(), a.y(), a.z()).toRotationMatrix(),
                         RosReference(a.x(), a.y(), a.z())),
              1e-14)
        << a.transpose();
  }
}

TEST(EulerTest, AnglesOfARotationGiveItBackAlsoAtThePoles) {
  for (const Vector3d& a : ManyAngles()) {
    const Matrix3d chart = ChartReference(a.x(), a.y(), a.z());
    const Vector3d chart_angles = ChartAnglesFromRotation(chart);
    ASSERT_LT(
        Difference(ChartReference(chart_angles.x(), chart_angles.y(), chart_angles.z()), chart),
        1e-14)
        << a.transpose();
    ExpectInRange(chart_angles);

    const Matrix3d ros = RosReference(a.x(), a.y(), a.z());
    const Vector3d ros_angles = RosAnglesFromRotation(Eigen::Quaterniond(ros));
    ASSERT_LT(Difference(RosReference(ros_angles.x(), ros_angles.y(), ros_angles.z()), ros), 3e-14)
        << a.transpose();
    ExpectInRange(ros_angles);
  }
}

TEST(EulerTest, HalfTurnIsPlusPi) {
  const Matrix3d half_roll = Vector3d(1, -1, -1).asDiagonal();
  EXPECT_EQ(ChartAnglesFromRotation(half_roll).x(), M_PI);
  const Matrix3d half_yaw = Vector3d(-1, -1, 1).asDiagonal();
  EXPECT_EQ(ChartAnglesFromRotation(half_yaw).z(), M_PI);
  EXPECT_EQ(RosAnglesFromRotation(Eigen::Quaterniond(0, 0, 0, 1)).z(), M_PI);
  EXPECT_EQ(RosAnglesFromRotation(Eigen::Quaterniond(0, 1, 0, 0)).x(), M_PI);
}

TEST(EulerTest, PoseAndChartAreInverse) {
  for (const Vector3d& a : ManyAngles()) {
    ChartVector chart;
    chart << 4.1e6, -2.5, 0.125, a;
    const Pose pose = PoseFromChart(chart);
    ASSERT_EQ(pose.translation, chart.head<3>());
    ASSERT_LT(Difference(pose.rotation.toRotationMatrix(), ChartReference(a.x(), a.y(), a.z())),
              1e-14);
    const Pose back = PoseFromChart(ChartFromPose(pose));
    ASSERT_LT(RotationDistance(pose, back), 3e-14) << a.transpose();
    ASSERT_EQ(TranslationDistance(pose, back), 0.0);
  }
}

TEST(EulerTest, WrapAngleLandsInTheHalfOpenInterval) {
  EXPECT_EQ(WrapAngle(0.0), 0.0);
  EXPECT_EQ(WrapAngle(M_PI), M_PI);
  EXPECT_EQ(WrapAngle(-M_PI), M_PI);
  EXPECT_NEAR(WrapAngle(1.5 * M_PI), -0.5 * M_PI, 1e-15);
  EXPECT_NEAR(WrapAngle(-1.5 * M_PI), 0.5 * M_PI, 1e-15);
  for (int turns = -5; turns <= 5; ++turns) {
    EXPECT_NEAR(WrapAngle(1.25 + turns * 2.0 * M_PI), 1.25, 1e-14);
  }
}

}  // namespace
}  // namespace voxloc
