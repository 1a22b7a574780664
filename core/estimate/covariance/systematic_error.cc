// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/systematic_error.h"

#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

Eigen::Matrix3d Turned(const Eigen::Matrix3d& map_R_base, const Eigen::Vector3d& sigma_base) {
  const Eigen::Matrix3d turned =
      map_R_base * sigma_base.cwiseAbs2().asDiagonal() * map_R_base.transpose();
  return 0.5 * (turned + turned.transpose());
}

}  // namespace

SystematicParts SystematicCovariance(const SystematicError& error, const Pose& map_T_base,
                                     const std::optional<Twist>& base_twist) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  SystematicParts parts;
  parts.map_and_mounting.topLeftCorner<3, 3>() = Turned(map_R_base, error.position_sigma_m);
  parts.map_and_mounting.bottomRightCorner<3, 3>() = Turned(map_R_base, error.rotation_sigma_rad);
  if (base_twist.has_value()) {
    const Vector6 moved = error.time_sigma_s * FixedAxesRate(*base_twist, map_T_base);
    parts.time = moved * moved.transpose();
    const double sheared_m = error.skew_sigma_s * base_twist->linear_m_s.norm();
    const double sheared_rad = sheared_m / kSkewRangeM;
    parts.sweep.diagonal().head<3>().setConstant(sheared_m * sheared_m);
    parts.sweep.diagonal().tail<3>().setConstant(sheared_rad * sheared_rad);
  }
  return parts;
}

absl::Status ValidateSystematicError(const SystematicError& error) {
  constexpr NumberRange kMetres = FromTo(0.0, 100.0);
  constexpr NumberRange kRadians = FromTo(0.0, 3.2);
  constexpr NumberRange kSeconds = FromTo(0.0, 10.0);
  for (int axis = 0; axis < 3; ++axis) {
    VOXLOC_TRY(
        CheckRanges({{"systematic_position_sigma_m", error.position_sigma_m[axis], kMetres},
                     {"systematic_rotation_sigma_rad", error.rotation_sigma_rad[axis], kRadians}}));
  }
  return CheckRanges({{"systematic_time_sigma_s", error.time_sigma_s, kSeconds},
                      {"systematic_skew_sigma_s", error.skew_sigma_s, kSeconds}});
}

}  // namespace voxloc
