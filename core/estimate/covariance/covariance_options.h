// SPDX-License-Identifier: Apache-2.0
//
// How the covariance of a result is estimated. Plain values.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_OPTIONS_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_OPTIONS_H_

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/estimate/covariance/systematic_error.h"
#include "core/geometry/covariance.h"

namespace voxloc {

enum class CovarianceMethod {
  kFixed,          // a fixed matrix, its position block rotated with the vehicle
  kLaplace,        // x and y from the inverse of the Hessian's x, y block
  kMultiNdt,       // x and y from the spread of alignments started around the result
  kMultiNdtScore,  // x and y from the scores of poses around the result
  kCalibrated,     // all six axes: see calibrated_covariance.h
};

// The first four methods, and the defaults, are those of Autoware's ndt_scan_matcher.
struct CovarianceOptions {
  CovarianceMethod method = CovarianceMethod::kCalibrated;
  // About fixed axes, position in base axes. Also the floor of the longitudinal and lateral
  // variance of the methods that estimate x and y.
  Matrix6 fixed = DefaultFixedCovariance();
  // Around the result, along the vehicle's x and y axes, metres.
  std::vector<Eigen::Vector2d> offsets_base = {{0.0, 0.5},  {0.0, -0.5}, {0.5, 0.0},
                                               {-0.5, 0.0}, {1.0, 0.0},  {-1.0, 0.0}};
  double temperature = 0.05;   // of the softmax over scores
  double scale_factor = 1.0;   // on what is estimated
  SystematicError systematic;  // what kCalibrated adds to that

  // 0.0225 m^2 three times, 0.000625 rad^2 three times on the diagonal.
  [[nodiscard]] static Matrix6 DefaultFixedCovariance();
};

// Most offsets of one request.
constexpr size_t kMaxCovarianceOffsets = 64;

// InvalidArgument names the field, its value and what is allowed: a fixed covariance that is
// symmetric and positive definite, 1 to kMaxCovarianceOffsets finite offsets, a temperature and a
// factor over 0, a valid systematic error.
[[nodiscard]] absl::Status ValidateCovarianceOptions(const CovarianceOptions& options);

// InvalidArgument: not finite, not symmetric within 1e-9 of its largest entry, or not positive
// definite. `name` is for the message.
[[nodiscard]] absl::Status CheckPositiveDefinite(const Matrix6& covariance, absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_OPTIONS_H_
