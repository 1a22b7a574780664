// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/pose_difference.h"

#include <Eigen/Geometry>

#include "core/geometry/euler.h"

namespace voxloc {

Eigen::Matrix<double, 6, 1> FixedAxesDifference(const Pose& from_map_T_base,
                                                const Pose& to_map_T_base) {
  const Eigen::AngleAxisd turn(to_map_T_base.rotation * from_map_T_base.rotation.conjugate());
  Eigen::Matrix<double, 6, 1> difference;
  difference.head<3>() = to_map_T_base.translation - from_map_T_base.translation;
  difference.tail<3>() = WrapAngle(turn.angle()) * turn.axis();
  return difference;
}

Pose MovedByFixedAxes(const Pose& from_map_T_base, const Eigen::Matrix<double, 6, 1>& difference) {
  Pose moved = from_map_T_base;
  moved.translation += difference.head<3>();
  const double angle = difference.tail<3>().norm();
  if (angle > 0.0) {
    const Eigen::Vector3d axis = difference.tail<3>() / angle;
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(angle, axis));
    moved.rotation = (turn * moved.rotation).normalized();
  }
  return moved;
}

}  // namespace voxloc
