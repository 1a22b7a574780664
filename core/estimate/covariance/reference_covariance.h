// SPDX-License-Identifier: Apache-2.0
//
// The formulas by which Autoware's ndt_scan_matcher comes to a covariance. Pure functions.
//
// A fixed matrix is turned with the vehicle; a 2x2 matrix of map x and y, however estimated, then
// takes the place of its x, y block, no smaller along the vehicle's axes than the fixed one.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_REFERENCE_COVARIANCE_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_REFERENCE_COVARIANCE_H_

#include <Eigen/Core>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/estimate/covariance/covariance_options.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

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

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_REFERENCE_COVARIANCE_H_
