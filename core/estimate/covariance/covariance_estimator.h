// SPDX-License-Identifier: Apache-2.0
//
// The covariances of a batch of results, by the method of each request. Engine work of the same
// kind is one call: all offset poses of all scans are aligned as one batch. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// The range of what sheared scans are fitted to, metres: in the hall of the choosing list's skew
// sets answers are wrong by 0.12 m and 11 mrad, in the median.
constexpr double kSkewRangeM = 10.0;
// The largest that time and skew may be set to: ten sweeps of a scanner that turns once a second.
constexpr double kMaxTimeSigmaS = 10.0;

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

// Of results of the profile, where a request names none.
[[nodiscard]] inline CovarianceMethod CovarianceMethodOf(const Profile& profile) {
  return profile.fixed_covariance ? CovarianceMethod::kFixed : CovarianceMethod::kCalibrated;
}

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

// What a calibrated covariance is the sum of: variances along and about the base's axes, order x y
// z rx ry rz, square metres and square radians.
struct VarianceShares {
  Vector6 scan = Vector6::Zero();              // what the scan's own residuals show
  Vector6 map_and_mounting = Vector6::Zero();  // the parts of SystematicParts
  Vector6 time = Vector6::Zero();
  Vector6 sweep = Vector6::Zero();
};

struct CovarianceReport {
  // Not ok: the method failed, and the rest is that of the fixed method. The engine's status;
  // Cancelled or DeadlineExceeded: an alignment from an offset pose was interrupted;
  // FailedPrecondition: the Hessian's x, y block is singular.
  absl::Status status;
  CovarianceMethod method = CovarianceMethod::kFixed;
  // About fixed map axes, order x y z rx ry rz. Symmetric; positive definite for kCalibrated, and
  // for kFixed where its matrix does not couple position and rotation. The other methods give what
  // the reference gives, which need not be.
  Matrix6 covariance = Matrix6::Zero();
  std::optional<VarianceShares> shares;  // of kCalibrated
  std::vector<Pose> offset_map_T_base;   // MULTI_NDT and MULTI_NDT_SCORE
  std::vector<Pose> aligned_map_T_base;  // MULTI_NDT: where alignments from them ended
  std::vector<double> nvtl;  // MULTI_NDT: at their ends; MULTI_NDT_SCORE: at the offsets
};

struct CovarianceRequest {
  AlignedScan scan;
  const CovarianceOptions* options = nullptr;  // valid
  std::optional<Twist> base_twist;             // when the scan was taken; nullopt: not known
  // Of the scan, for kCalibrated; null: it is calibrated here.
  const CalibratedCovariance* calibrated = nullptr;
};

// One report a request, in their order.
[[nodiscard]] std::vector<CovarianceReport> EstimateCovariances(
    Engine& engine, absl::Span<const CovarianceRequest> requests);

// The same report without the engine; nullopt: the method needs it.
[[nodiscard]] std::optional<CovarianceReport> EstimateWithoutEngine(
    const CovarianceRequest& request);

// The formulas by which Autoware's ndt_scan_matcher comes to a covariance. Pure functions.
//
// A fixed matrix is turned with the vehicle; a 2x2 matrix of map x and y, however estimated, then
// takes the place of its x, y block, no smaller along the vehicle's axes than the fixed one.

// The position block turned into map axes; rotation and cross blocks as they are.
[[nodiscard]] Matrix6 RotateFixedCovariance(const Matrix6& fixed, const Pose& map_T_base);

// -inverse of the x, y block of a Hessian of the score: of the block alone, so conditional on the
// other axes. FailedPrecondition: the block is singular or not finite.
[[nodiscard]] absl::StatusOr<Eigen::Matrix2d> LaplaceCovariance(const Matrix6& hessian);

// The pose moved by each offset along its own x and y axes, level: z and rotation stay.
[[nodiscard]] std::vector<Pose> OffsetPoses(const Pose& map_T_base,
                                            absl::Span<const Eigen::Vector2d> offsets_base);

struct PositionMoments {
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();
};

// Of at least one position, as the reference corrects them: the mean square times (n - 1) / n.
[[nodiscard]] PositionMoments MomentsOf(absl::Span<const Eigen::Vector2d> positions);

// Of positions with weights that sum to 1; not corrected.
[[nodiscard]] PositionMoments WeightedMoments(absl::Span<const Eigen::Vector2d> positions,
                                              absl::Span<const double> weights);

// Proportional to exp(score / temperature), their sum 1.
[[nodiscard]] std::vector<double> SoftmaxWeights(absl::Span<const double> scores,
                                                 double temperature);

// The diagonal raised to these values where it is below them; the rest as it is.
[[nodiscard]] Eigen::Matrix2d RaiseDiagonal(const Eigen::Matrix2d& covariance, double least_xx,
                                            double least_yy);

// The whole matrix from an estimate of x and y in map axes: scaled, raised to options.fixed along
// the vehicle's axes, written into the turned fixed matrix.
[[nodiscard]] Matrix6 CovarianceWithPosition(const Eigen::Matrix2d& estimate,
                                             const Pose& map_T_base,
                                             const CovarianceOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_
