// SPDX-License-Identifier: Apache-2.0
//
// PoseFilter: an error-state Kalman filter of the pose of a base in a map, and of the scale and the
// yaw rate bias of its odometry.
//
// The pose is that in the map as it is around the base: where a map is distorted, scans follow the
// distortion, and so does the pose. Its covariance is therefore without the systematic errors that
// neighbouring scans have in common (SystematicError); whoever needs the pose in an undistorted
// frame adds these once.
//
// The error is that of FixedAxesDifference, from the estimate to the truth: a displacement and a
// small rotation in fixed map axes. The formulas are those of J. Sola, Quaternion kinematics for
// the error-state Kalman filter, arXiv:1711.02508 (2017), chapter 6 and section 7.
//
// A plain value: copies are independent, and any number of threads may read one.

#ifndef VOXLOC_CORE_TRACKING_POSE_FILTER_H_
#define VOXLOC_CORE_TRACKING_POSE_FILTER_H_

#include <Eigen/Core>

#include "absl/status/status.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Errors of odometry as standard deviations along and about each axis. Those of different stretches
// are independent of each other: variances grow with the way, the angle and the time.
struct OdometryErrors {
  // Of the scale: the share of the way that is counted too much or too little. 0 to 0.5. The
  // default is that of AlignOptions::odometry_drift.
  double scale_sigma = 0.02;
  // After one metre of way: of the position, 0 to 10 m, and of the rotation, 0 to 1 rad.
  double position_sigma_per_metre = 0.01;
  double rotation_sigma_per_metre = 0.001;
  // Of the rotation after one radian of turning; 0 to 1 rad.
  double rotation_sigma_per_radian = 0.02;
  // Of the yaw rate's bias; 0 to 1 rad/s.
  double yaw_rate_bias_sigma_radps = 0.001;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateOdometryErrors(const OdometryErrors& errors);

// A motion of the base, by its odometry.
struct BaseMotion {
  Pose from_T_to;
  // For the bias of the yaw rate, seconds, >= 0; 0: not known.
  double duration_s = 0.0;
  // Of the motion, in addition to OdometryErrors; along and about the axes of the base.
  Matrix6 extra_covariance = Matrix6::Zero();
};

// What a measurement says about the pose, along k directions, 0 to 6. The measured numbers are
// `axes` times the difference to `map_T_base`.
struct PoseObservation {
  Pose map_T_base;
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6> axes{0, 6};  // k x 6
  // Of these numbers; positive definite, k x k.
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6> covariance{0, 0};
  // The differences by which one number changes by 1 and the others do not: 6 x k.
  Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6> directions{6, 0};
};

class PoseFilter {
 public:
  // Order: the six of the pose, the scale, the yaw rate's bias.
  static constexpr int kScale = 6;
  static constexpr int kYawRateBias = 7;
  static constexpr int kStates = 8;
  using StateCovariance = Eigen::Matrix<double, kStates, kStates>;

  // `errors` are valid. The pose is the identity, without an error, until Place.
  explicit PoseFilter(const OdometryErrors& errors);

  void Predict(const BaseMotion& motion);
  // Of the motion as Predict takes it, scale and bias corrected, along and about the axes of the
  // base: by OdometryErrors and what is not known of scale and bias, without extra_covariance.
  [[nodiscard]] Matrix6 MotionCovariance(const BaseMotion& motion) const;

  // The squared Mahalanobis distance of the observation, of chi-square distribution with as many
  // degrees of freedom as rows, where both are right.
  [[nodiscard]] double Distance(const PoseObservation& observation) const;
  void Update(const PoseObservation& observation);

  // Adds this variance to each of the observation's numbers, and nothing across its directions.
  void Forget(const PoseObservation& observation, double variance);
  // The pose starts anew; what is known of the odometry stays.
  void Place(const Pose& map_T_base, const Matrix6& covariance);

  [[nodiscard]] const Pose& map_T_base() const { return map_T_base_; }
  [[nodiscard]] Matrix6 pose_covariance() const { return covariance_.topLeftCorner<6, 6>(); }
  // The factor from the way by the odometry to the way in the map.
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] double scale_sigma() const;
  // What the yaw rate by the odometry is too high by.
  [[nodiscard]] double yaw_rate_bias_radps() const { return yaw_rate_bias_radps_; }
  [[nodiscard]] double yaw_rate_bias_sigma_radps() const;

 private:
  // Variances that grow with the way and the angle, along and about each axis.
  [[nodiscard]] Vector6 NoiseOf(const BaseMotion& motion) const;
  struct Innovation;
  [[nodiscard]] Innovation InnovationOf(const PoseObservation& observation) const;

  OdometryErrors errors_;
  Pose map_T_base_;
  double scale_ = 1.0;
  double yaw_rate_bias_radps_ = 0.0;
  StateCovariance covariance_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_FILTER_H_
