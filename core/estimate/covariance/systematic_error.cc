// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/systematic_error.h"

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

Eigen::Matrix3d Turned(const Eigen::Matrix3d& map_R_base, const Eigen::Vector3d& sigma_base) {
  const Eigen::Matrix3d turned =
      map_R_base * sigma_base.cwiseAbs2().asDiagonal() * map_R_base.transpose();
  return 0.5 * (turned + turned.transpose());
}

absl::Status CheckSigmas(absl::string_view name, const Eigen::Vector3d& sigmas, double most) {
  for (const double sigma : sigmas) {
    if (!(sigma >= 0.0 && sigma <= most)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be three values from 0 to ", most, " (got ", sigma, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTime(absl::string_view name, double sigma_s) {
  constexpr double kMostS = 10.0;
  if (sigma_s >= 0.0 && sigma_s <= kMostS) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be from 0 to ", kMostS, " (got ", sigma_s, ")"));
}

}  // namespace

SystematicParts SystematicCovariance(const SystematicError& error, const Pose& map_T_base,
                                     const std::optional<Twist>& base_twist) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  SystematicParts parts;
  parts.map_and_mounting.topLeftCorner<3, 3>() = Turned(map_R_base, error.position_sigma_m);
  parts.map_and_mounting.bottomRightCorner<3, 3>() = Turned(map_R_base, error.rotation_sigma_rad);
  if (base_twist.has_value()) {
    const Eigen::Matrix<double, 6, 1> moved =
        error.time_sigma_s * FixedAxesRate(*base_twist, map_T_base);
    parts.time = moved * moved.transpose();
    const double sheared_m = error.skew_sigma_s * base_twist->linear_m_s.norm();
    const double sheared_rad = sheared_m / kSkewRangeM;
    parts.sweep.diagonal().head<3>().setConstant(sheared_m * sheared_m);
    parts.sweep.diagonal().tail<3>().setConstant(sheared_rad * sheared_rad);
  }
  return parts;
}

absl::Status ValidateSystematicError(const SystematicError& error) {
  constexpr double kMostM = 100.0;
  constexpr double kMostRad = 3.2;
  if (absl::Status status =
          CheckSigmas("systematic_position_sigma_m", error.position_sigma_m, kMostM);
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckSigmas("systematic_rotation_sigma_rad", error.rotation_sigma_rad, kMostRad);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckTime("systematic_time_sigma_s", error.time_sigma_s);
      !status.ok()) {
    return status;
  }
  return CheckTime("systematic_skew_sigma_s", error.skew_sigma_s);
}

}  // namespace voxloc
