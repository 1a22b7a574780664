// SPDX-License-Identifier: Apache-2.0
//
// The one place where rotations meet Euler angles. Two conventions are in use and never mix:
//
//   chart  R = Rx(roll) Ry(pitch) Rz(yaw)   the coordinates in which NDT takes its derivatives
//                                           (Magnusson 2009, equation 6.17)
//   ROS    R = Rz(yaw) Ry(pitch) Rx(roll)   what people type and read (REP 103)
//
// Angles are radians; returned angles lie in (-pi, pi], pitch in [-pi/2, pi/2].

#ifndef VOXLOC_CORE_GEOMETRY_EULER_H_
#define VOXLOC_CORE_GEOMETRY_EULER_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "core/geometry/pose.h"

namespace voxloc {

// Degrees, in which people give angles, and radians, in which everything computes.
inline constexpr double kDegreesPerRadian = 57.295779513082320877;
inline constexpr double kRadiansPerDegree = 0.017453292519943295769;

// (x, y, z, roll, pitch, yaw) in the chart: the vector p that Newton's method moves.
using ChartVector = Eigen::Matrix<double, 6, 1>;

[[nodiscard]] Eigen::Matrix3d RotationFromChartAngles(double roll, double pitch, double yaw);
[[nodiscard]] Eigen::Vector3d ChartAnglesFromRotation(const Eigen::Matrix3d& rotation);

[[nodiscard]] ChartVector ChartFromPose(const Pose& pose);
[[nodiscard]] Pose PoseFromChart(const ChartVector& chart);

[[nodiscard]] Eigen::Quaterniond RotationFromRosAngles(double roll, double pitch, double yaw);
[[nodiscard]] Eigen::Vector3d RosAnglesFromRotation(const Eigen::Quaterniond& rotation);

// The angle moved into (-pi, pi].
[[nodiscard]] double WrapAngle(double angle);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_EULER_H_
