// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/euler.h"

#include <cmath>

namespace voxloc {

Eigen::Matrix3d RotationFromChartAngles(double roll, double pitch, double yaw) {
  return (Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()) *
          Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitY()) *
          Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()))
      .toRotationMatrix();
}

Eigen::Vector3d ChartAnglesFromRotation(const Eigen::Matrix3d& rotation) {
  const double pitch = std::atan2(rotation(0, 2), std::hypot(rotation(1, 2), rotation(2, 2)));
  const double roll = std::atan2(-rotation(1, 2), rotation(2, 2));
  // Computed from the rotation with the roll taken off, which stays exact near pitch = +-pi/2.
  const double sin_roll = std::sin(roll);
  const double cos_roll = std::cos(roll);
  const double yaw = std::atan2(cos_roll * rotation(1, 0) + sin_roll * rotation(2, 0),
                                cos_roll * rotation(1, 1) + sin_roll * rotation(2, 1));
  return {WrapAngle(roll), pitch, WrapAngle(yaw)};
}

ChartVector ChartFromPose(const Pose& pose) {
  ChartVector chart;
  chart << pose.translation, ChartAnglesFromRotation(pose.rotation.toRotationMatrix());
  return chart;
}

Pose PoseFromChart(const ChartVector& chart) {
  return {chart.head<3>(),
          Eigen::Quaterniond(RotationFromChartAngles(chart[3], chart[4], chart[5])).normalized()};
}

Eigen::Quaterniond RotationFromRosAngles(double roll, double pitch, double yaw) {
  return Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) *
         Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitY()) *
         Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX());
}

Eigen::Vector3d RosAnglesFromRotation(const Eigen::Quaterniond& rotation) {
  const Eigen::Matrix3d r = rotation.toRotationMatrix();
  const double pitch = std::atan2(-r(2, 0), std::hypot(r(2, 1), r(2, 2)));
  const double yaw = std::atan2(r(1, 0), r(0, 0));
  // Computed from the rotation with the yaw taken off, which stays exact near pitch = +-pi/2.
  const double sin_yaw = std::sin(yaw);
  const double cos_yaw = std::cos(yaw);
  const double roll =
      std::atan2(sin_yaw * r(0, 2) - cos_yaw * r(1, 2), cos_yaw * r(1, 1) - sin_yaw * r(0, 1));
  return {WrapAngle(roll), pitch, WrapAngle(yaw)};
}

double WrapAngle(double angle) {
  const double wrapped = std::remainder(angle, 2.0 * M_PI);
  return wrapped <= -M_PI ? wrapped + 2.0 * M_PI : wrapped;
}

}  // namespace voxloc
