// SPDX-License-Identifier: Apache-2.0
//
// Clusters of neighbouring points of a scan, whose errors are taken to be independent between
// clusters, and the arithmetic of calibrated covariances: from what each cluster says at a pose to
// the covariance of the pose, in scaled axes, in which rotations are lengths. Pure functions; the
// same scan gives the same clusters in the same order.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_COVARIANCE_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_COVARIANCE_H_

#include <Eigen/Core>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/geometry/covariance.h"

namespace voxloc {

// The finite points of the scan, halved along the longest edge of their box again and again, into
// at most kMaxPointGroups parts of equal size, none of fewer than four points where the scan has
// as many. Without a finite point there is no cluster.
[[nodiscard]] PointGroups ClusterPoints(const PointCloud& scan);

// As many groups of consecutive finite points. Much faster; for callers that need only the sums
// over all points, which engines add up group by group in parallel.
[[nodiscard]] PointGroups SlicePoints(const PointCloud& scan);

// Derivatives of the score of some points, at the pose and by its coordinates.
struct ScoreTerms {
  Vector6 gradient = Vector6::Zero();
  Matrix6 information = Matrix6::Zero();  // the negative Hessian
};

// The derivatives of a cluster, by the coordinates u of fixed map axes = scale * u.
[[nodiscard]] ScoreTerms ScaledTerms(const GroupSums& cluster, const Vector6& scale);

// The information of a whole scan by its principal directions.
struct Spectrum {
  Vector6 information = Vector6::Zero();  // eigenvalues of the sum of all clusters, ascending
  Matrix6 directions = Matrix6::Identity();

  [[nodiscard]] Matrix6 InformationMatrix() const;
  // Whether direction i holds more than this share of the largest information.
  [[nodiscard]] bool Observes(int i, double least_ratio) const;
};

// Zero where a number is not finite.
[[nodiscard]] Spectrum DecomposeInformation(absl::Span<const ScoreTerms> clusters);

struct SandwichOptions {
  // Of the largest information, up to which a direction is not observed.
  double unobserved_ratio = 0.0;
  double surface_offset_m = 0.0;  // of the position, which all clusters have in common; one sigma
  double largest_sigma_m = 0.0;   // over 0
};

// One column per unobserved direction: one standard deviation of the pose along it, including the
// coupled motion along the observed directions.
using NullSpaceExtents = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;

// Symmetric and positive definite for any clusters. `extent_covariance` is the uncertainty of the
// extents themselves.
[[nodiscard]] Matrix6 SandwichCovariance(absl::Span<const ScoreTerms> clusters,
                                         const Spectrum& spectrum, const NullSpaceExtents& extents,
                                         const Matrix6& extent_covariance,
                                         const SandwichOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_COVARIANCE_H_
