// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/covariance_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/geometry/covariance.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

Eigen::Matrix3d Turned(const Eigen::Matrix3d& map_R_base, const Eigen::Vector3d& sigma_base) {
  const Eigen::Matrix3d turned =
      map_R_base * sigma_base.cwiseAbs2().asDiagonal() * map_R_base.transpose();
  return 0.5 * (turned + turned.transpose());
}

constexpr double kSymmetryTolerance = 1e-9;

// Of the matrix scaled to a unit diagonal, whose eigenvalues then do not depend on units: what is
// below this cannot be distinguished from zero.
constexpr double kMinEigenvalue = 1e-12;

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

Matrix6 CovarianceOptions::DefaultFixedCovariance() {
  Matrix6 covariance = Matrix6::Zero();
  covariance.diagonal() << 0.0225, 0.0225, 0.0225, 0.000625, 0.000625, 0.000625;
  return covariance;
}

absl::Status CheckPositiveDefinite(const Matrix6& covariance, absl::string_view name) {
  const double largest = covariance.cwiseAbs().maxCoeff();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      const double value = covariance(i, j);
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " (", i, ", ", j, ") must be finite (got ", value, ")"));
      }
      if (std::abs(value - covariance(j, i)) > kSymmetryTolerance * largest) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " must be symmetric (got ", value, " at (", i, ", ", j, ") and ",
                         covariance(j, i), " at (", j, ", ", i, "))"));
      }
    }
    if (!(covariance(i, i) > 0.0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " (", i, ", ", i, ") must be over 0 (got ", covariance(i, i), ")"));
    }
  }
  const Vector6 scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix6 correlation = scale.asDiagonal() * covariance * scale.asDiagonal();
  const double least = DecomposeSymmetric(correlation).values[0];
  if (least > kMinEigenvalue) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be positive definite: the smallest eigenvalue of its correlations must be over ",
      kMinEigenvalue, " (got ", least, ")"));
}

absl::Status ValidateCovarianceOptions(const CovarianceOptions& options) {
  VOXLOC_TRY(CheckPositiveDefinite(options.fixed, "the fixed covariance"));
  for (size_t i = 0; i < options.offsets_base.size(); ++i) {
    const Eigen::Vector2d& offset = options.offsets_base[i];
    if (offset.allFinite()) continue;
    return absl::InvalidArgumentError(absl::StrCat("offset pose ", i, " must be finite (got (",
                                                   offset.x(), ", ", offset.y(), "))"));
  }
  VOXLOC_TRY(CheckRanges({{"the number of offset poses", options.offsets_base.size(),
                           FromTo(1, kMaxCovarianceOffsets)},
                          {"temperature", options.temperature, Over(0.0)},
                          {"scale_factor", options.scale_factor, Over(0.0)}}));
  return ValidateSystematicError(options.systematic);
}

}  // namespace voxloc
