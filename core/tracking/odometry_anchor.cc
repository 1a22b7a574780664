// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/odometry_anchor.h"

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

void OdometryAnchor::Set(const Pose& map_T_base, const Pose& odometry_T_base) {
  anchor_ = PropagatedPose{map_T_base, odometry_T_base};
  last_odometry_T_base_ = odometry_T_base;
  distance_m_ = 0.0;
  rotation_rad_ = 0.0;
}

void OdometryAnchor::Update(const std::optional<Pose>& odometry_T_base) {
  if (!odometry_T_base.has_value()) anchor_.reset();
  if (!anchor_.has_value()) return;
  distance_m_ += TranslationDistance(last_odometry_T_base_, *odometry_T_base);
  rotation_rad_ += RotationDistance(last_odometry_T_base_, *odometry_T_base);
  last_odometry_T_base_ = *odometry_T_base;
}

std::optional<PriorPose> OdometryAnchor::Prior(double drift) const {
  if (!anchor_.has_value()) return std::nullopt;
  PriorPose prior;
  prior.source = PriorSource::kOdometry;
  prior.map_T_base = anchor_->At(last_odometry_T_base_);
  prior.covariance.diagonal().head<3>().setConstant(std::pow(drift * distance_m_, 2));
  prior.covariance.diagonal().tail<3>().setConstant(std::pow(drift * rotation_rad_, 2));
  return prior;
}

}  // namespace voxloc
