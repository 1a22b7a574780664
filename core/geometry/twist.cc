// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/twist.h"

#include "core/geometry/pose_difference.h"

namespace voxloc {

Twist MeanTwist(const Pose& from_T_base, const Pose& to_T_base, double duration_s) {
  const Eigen::Matrix<double, 6, 1> rate = FixedAxesDifference(from_T_base, to_T_base) / duration_s;
  const Eigen::Quaterniond base_R_fixed =
      from_T_base.rotation.slerp(0.5, to_T_base.rotation).conjugate();
  return {base_R_fixed * rate.head<3>(), base_R_fixed * rate.tail<3>()};
}

Eigen::Matrix<double, 6, 1> FixedAxesRate(const Twist& twist, const Pose& map_T_base) {
  Eigen::Matrix<double, 6, 1> rate;
  rate << map_T_base.rotation * twist.linear_m_s, map_T_base.rotation * twist.angular_rad_s;
  return rate;
}

}  // namespace voxloc
