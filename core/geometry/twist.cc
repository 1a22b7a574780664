// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/twist.h"

#include <cmath>

#include "core/geometry/covariance.h"

namespace voxloc {

Twist MeanTwist(const Pose& from_T_base, const Pose& to_T_base, double duration_s) {
  const Vector6 rate = FixedAxesDifference(from_T_base, to_T_base) / duration_s;
  const Eigen::Quaterniond base_R_fixed =
      from_T_base.rotation.slerp(0.5, to_T_base.rotation).conjugate();
  return {base_R_fixed * rate.head<3>(), base_R_fixed * rate.tail<3>()};
}

Pose IntegrateTwist(const Twist& twist, double duration_s) {
  const Eigen::Vector3d turn = twist.angular_rad_s * duration_s;
  const Eigen::Vector3d shift = twist.linear_m_s * duration_s;
  const double angle = turn.norm();
  // The translation is J shift with the left Jacobian of the rotation, J = I + b [turn] + c
  // [turn]^2; small angles use the series of b and c.
  const double square = angle * angle;
  const bool small = angle < 1e-3;
  const double b = small ? 0.5 - square / 24.0 : (1.0 - std::cos(angle)) / square;
  const double c =
      small ? 1.0 / 6.0 - square / 120.0 : (angle - std::sin(angle)) / (square * angle);
  const Eigen::Vector3d once = turn.cross(shift);
  Pose moved;
  moved.translation = shift + b * once + c * turn.cross(once);
  const double half = 0.5 * angle;
  const double sine = small ? 0.5 - square / 48.0 : std::sin(half) / angle;
  moved.rotation =
      Eigen::Quaterniond(std::cos(half), sine * turn.x(), sine * turn.y(), sine * turn.z())
          .normalized();
  return moved;
}

Twist SensorTwist(const Twist& base_twist, const Pose& base_T_sensor) {
  const Eigen::Quaterniond sensor_R_base = base_T_sensor.rotation.conjugate();
  const Eigen::Vector3d velocity =
      base_twist.linear_m_s + base_twist.angular_rad_s.cross(base_T_sensor.translation);
  return {sensor_R_base * velocity, sensor_R_base * base_twist.angular_rad_s};
}

Vector6 FixedAxesRate(const Twist& twist, const Pose& map_T_base) {
  Vector6 rate;
  rate << map_T_base.rotation * twist.linear_m_s, map_T_base.rotation * twist.angular_rad_s;
  return rate;
}

}  // namespace voxloc
