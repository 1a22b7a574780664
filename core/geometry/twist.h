// SPDX-License-Identifier: Apache-2.0
//
// The velocity of a base, and its motion at constant velocity.

#ifndef VOXLOC_CORE_GEOMETRY_TWIST_H_
#define VOXLOC_CORE_GEOMETRY_TWIST_H_

#include <Eigen/Core>

#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Velocities along and about the base's own axes, so that it is the same in every fixed frame.
struct Twist {
  Eigen::Vector3d linear_m_s = Eigen::Vector3d::Zero();
  Eigen::Vector3d angular_rad_s = Eigen::Vector3d::Zero();
};

// The mean twist of a base that moved from one pose to another, both in one fixed frame: position
// and rotation per second, in the axes of the orientation halfway. `duration_s` is over 0.
[[nodiscard]] Twist MeanTwist(const Pose& from_T_base, const Pose& to_T_base, double duration_s);

// The motion of a base with this constant twist in `duration_s`, which may be negative, in the base
// frame at the beginning: exp(duration_s twist).
[[nodiscard]] Pose IntegrateTwist(const Twist& twist, double duration_s);

// The twist of a sensor that sits on a base with this twist.
[[nodiscard]] Twist SensorTwist(const Twist& base_twist, const Pose& base_T_sensor);

// How a pose with this twist changes per second, about fixed map axes, order x y z rx ry rz.
[[nodiscard]] Vector6 FixedAxesRate(const Twist& twist, const Pose& map_T_base);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_TWIST_H_
