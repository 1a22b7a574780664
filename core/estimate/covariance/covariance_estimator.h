// SPDX-License-Identifier: Apache-2.0
//
// The covariances of a batch of results, by the method of each request. Engine work of the same
// kind is one call: all offset poses of all scans are aligned as one batch. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/covariance_options.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

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
