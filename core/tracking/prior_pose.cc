// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/prior_pose.h"

#include <cmath>

#include "core/geometry/covariance.h"

namespace voxloc {

double ErrorBoundAlongUnobserved(const Degeneracy& degeneracy, const Pose& result_map_T_base,
                                 const PriorPose& prior) {
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(degeneracy.rotation_scale_m);
  const Vector6 difference =
      scale.cwiseProduct(FixedAxesDifference(prior.map_T_base, result_map_T_base));
  const Matrix6 covariance = scale.asDiagonal() * prior.covariance * scale.asDiagonal();
  double squared_distance = 0.0;
  double variance = 0.0;
  for (int i = 0; i < degeneracy.unobserved_directions; ++i) {
    const Vector6 direction = degeneracy.eigenvectors.col(i);
    squared_distance += std::pow(direction.dot(difference), 2);
    variance += direction.dot(covariance * direction);
  }
  return std::sqrt(squared_distance) + 2.0 * std::sqrt(variance);
}

}  // namespace voxloc
