// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/covariance_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/geometry/symmetric_eigen.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr double kSymmetryTolerance = 1e-9;

// Of the matrix scaled to a unit diagonal, whose eigenvalues then do not depend on units: what is
// below this cannot be distinguished from zero.
constexpr double kMinEigenvalue = 1e-12;

}  // namespace

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
