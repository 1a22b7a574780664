// SPDX-License-Identifier: Apache-2.0
//
// How the covariance of a result is estimated. Plain values.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_OPTIONS_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_OPTIONS_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// The range of what sheared scans are fitted to, metres: in the hall of the choosing list's skew
// sets answers are wrong by 0.12 m and 11 mrad, in the median.
constexpr double kSkewRangeM = 10.0;

// Systematic errors, which neighbouring scans have in common: the map is distorted by centimetres,
// the mounting of the sensor is known to a few millimetres and a fraction of a degree, stamps are
// late, and a scan that was not deskewed is distorted as a whole. The residuals of a scan do not
// show them, so they are added to the covariance.
//
// Standard deviations; of position and rotation along and about the base's axes, independent of
// each other.
struct SystematicError {
  // The maps of the choosing list (tests/bench/scenes) are displaced by 3 to 4 cm along each axis.
  Eigen::Vector3d position_sigma_m = {0.04, 0.04, 0.04};
  // 0.2 degrees: what such a displacement turns answers by, and what an extrinsic calibration is
  // good to.
  Eigen::Vector3d rotation_sigma_rad = {0.0035, 0.0035, 0.0035};
  // Of the time at which the base was where the scan shows it, against the scan's stamp: the pose
  // is wrong by the twist of the base for that time. Late stamps, and sweeps that were not
  // deskewed, whose points were measured at different times. 0.02 s contains 96 % of the errors of
  // the drift sets of the choosing list within 3 sigma, 0.01 s 94 %; a tenth of a second in which
  // points are measured evenly has a standard deviation of 0.029 s.
  double time_sigma_s = 0.02;
  // Of the motion within a sweep that was not deskewed, which shears the scan: where that leads
  // depends on what was measured when, so the base is taken to be wrong along and about each axis,
  // by its speed for that time, and by the angle of this displacement at kSkewRangeM. With 0.01 s,
  // all errors of the drift sets of the choosing list are within 3 sigma, and 96 % of its skew
  // sets: without it, 93 %. 0 for scans that are deskewed.
  double skew_sigma_s = 0.01;
};

// What each kind of error adds, about fixed map axes, order x y z rx ry rz.
struct SystematicParts {
  Matrix6 map_and_mounting = Matrix6::Zero();  // position_sigma_m and rotation_sigma_rad
  Matrix6 time = Matrix6::Zero();              // time_sigma_s
  Matrix6 sweep = Matrix6::Zero();             // skew_sigma_s

  [[nodiscard]] Matrix6 Sum() const { return map_and_mounting + time + sweep; }
};

// `base_twist`: of the base when the scan was taken; nullopt: not known, and nothing is added for
// the time and the sweep.
[[nodiscard]] SystematicParts SystematicCovariance(const SystematicError& error,
                                                   const Pose& map_T_base,
                                                   const std::optional<Twist>& base_twist);

// InvalidArgument names the field and its value: each from 0 to 100 m, 0 to 3.2 rad, 0 to 10 s.
[[nodiscard]] absl::Status ValidateSystematicError(const SystematicError& error);

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
