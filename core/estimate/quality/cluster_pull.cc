// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/cluster_pull.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/sandwich.h"

namespace voxloc {

ClusterPull MeasurePull(absl::Span<const GroupSums> clusters, const Degeneracy& degeneracy) {
  const Vector6 curvature = degeneracy.eigenvalues.cwiseAbs();
  const double least = kDegeneracyLimits.unobserved_ratio * curvature.maxCoeff();
  Vector6 steps;  // along each direction, of a gradient of 1
  if (!(least > 0.0)) return {};
  for (int i = 0; i < 6; ++i) steps[i] = 1.0 / std::max(curvature[i], least);
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(1.0 / degeneracy.rotation_scale_m);

  const Matrix6 steps_of_gradient = scale.asDiagonal() * degeneracy.eigenvectors *
                                    steps.asDiagonal() * degeneracy.eigenvectors.transpose() *
                                    scale.asDiagonal();

  Vector6 total = Vector6::Zero();
  Vector6 squares = Vector6::Zero();
  for (const GroupSums& cluster : clusters) {
    const Vector6 step =
        steps_of_gradient * Eigen::Map<const Vector6>(cluster.derivatives.gradient);
    total += step;
    squares += step.cwiseAbs2();
  }
  return {total.head<3>().norm(), total.tail<3>().norm(), std::sqrt(squares.head<3>().sum()),
          std::sqrt(squares.tail<3>().sum())};
}

}  // namespace voxloc
