// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_filter.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "core/text/number_range.h"

namespace voxloc {
namespace {

using Eigen::numext::abs2;

// How the scale and the bias wander, so that they are learnt anew when they change (load, tyre
// pressure, temperature): as shares of their first standard deviations, after a kilometre and after
// ten minutes.
constexpr double kScaleWanderPerMetre = 0.1 * 0.1 / 1000.0;  // variance
constexpr double kBiasWanderPerSecond = 0.1 * 0.1 / 600.0;   // variance, also of the stamps
// A component of the twist has changed where it differs by more standard deviations of its noise:
// more than noise does in a drive of hours.
constexpr double kTwistNoises = 6.0;

Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d matrix;
  matrix << 0.0, -v.z(), v.y(), v.z(), 0.0, -v.x(), -v.y(), v.x(), 0.0;
  return matrix;
}

Eigen::Quaterniond YawTurn(double angle_rad) {
  return Eigen::Quaterniond(Eigen::AngleAxisd(angle_rad, Eigen::Vector3d::UnitZ()));
}

}  // namespace

absl::Status ValidateOdometryErrors(const OdometryErrors& errors) {
  return CheckRanges(
      {{"scale_sigma", errors.scale_sigma, FromTo(0, 0.5)},
       {"position_sigma_per_metre", errors.position_sigma_per_metre, FromTo(0, 10).Unit(" m")},
       {"rotation_sigma_per_metre", errors.rotation_sigma_per_metre, FromTo(0, 1).Unit(" rad")},
       {"rotation_sigma_per_radian", errors.rotation_sigma_per_radian, FromTo(0, 1).Unit(" rad")},
       {"yaw_rate_bias_sigma_radps", errors.yaw_rate_bias_sigma_radps, FromTo(0, 1).Unit(" rad/s")},
       {"stamp_offset_sigma_s", errors.stamp_offset_sigma_s, FromTo(0, 10).Unit(" s")}});
}

PoseFilter::PoseFilter(const OdometryErrors& errors) : errors_(errors) {
  covariance_.setZero();
  covariance_(kScale, kScale) = abs2(errors.scale_sigma);
  covariance_(kYawRateBias, kYawRateBias) = abs2(errors.yaw_rate_bias_sigma_radps);
  covariance_(kStampOffset, kStampOffset) = abs2(errors.stamp_offset_sigma_s);
}

// The twist is that of the odometry, with its noise. If it was followed as it is, the filter would
// learn the offset of the stamps from that noise, so each component stays as it is until it has
// changed.
Vector6 PoseFilter::FollowTwist(const BaseMotion& motion) {
  const std::optional<Twist> before = base_twist_;
  base_twist_ = motion.base_twist;
  if (!before.has_value() || !base_twist_.has_value() || !motion.shows_stamp_offset) {
    return Vector6::Zero();
  }
  const double way_m = motion.from_T_to.translation.norm();
  const double angle_rad = RotationDistance(Pose(), motion.from_T_to);
  const double noises_per_s = kTwistNoises / motion.duration_s;
  const double linear_noise = noises_per_s * errors_.position_sigma_per_metre * std::sqrt(way_m);
  const double angular_noise =
      noises_per_s * std::sqrt(abs2(errors_.rotation_sigma_per_metre) * way_m +
                               abs2(errors_.rotation_sigma_per_radian) * angle_rad);
  Vector6 change;
  change << base_twist_->linear_m_s - before->linear_m_s,
      base_twist_->angular_rad_s - before->angular_rad_s;
  for (int axis = 0; axis < 6; ++axis) {
    if (std::abs(change[axis]) <= (axis < 3 ? linear_noise : angular_noise)) change[axis] = 0.0;
  }
  base_twist_->linear_m_s = before->linear_m_s + change.head<3>();
  base_twist_->angular_rad_s = before->angular_rad_s + change.tail<3>();
  return change;
}

void PoseFilter::Predict(const BaseMotion& motion) {
  const Vector6 twist_change = FollowTwist(motion);
  // The bias turns the base evenly on its way, so half of it turns the displacement.
  const double turn_rad = -yaw_rate_bias_radps_ * motion.duration_s;
  const Eigen::Vector3d counted = YawTurn(0.5 * turn_rad) * motion.from_T_to.translation;
  const Eigen::Matrix3d map_R_base = map_T_base_.rotation.toRotationMatrix();
  const Eigen::Vector3d counted_map = map_R_base * counted;
  const Eigen::Vector3d yaw_axis_map = map_R_base.col(2);

  StateCovariance transition = StateCovariance::Identity();
  transition.block<3, 3>(0, 3) = -CrossMatrix(scale_ * counted_map);
  transition.block<3, 1>(0, kScale) = counted_map;
  transition.block<3, 1>(0, kYawRateBias) =
      -0.5 * motion.duration_s * scale_ * yaw_axis_map.cross(counted_map);
  transition.block<3, 1>(3, kYawRateBias) = -motion.duration_s * yaw_axis_map;

  map_T_base_ = map_T_base_ * Pose{scale_ * counted, YawTurn(turn_rad) * motion.from_T_to.rotation};
  const Eigen::Matrix3d map_R_moved = map_T_base_.rotation.toRotationMatrix();
  Vector6 moved_per_s;  // of offset
  moved_per_s << map_R_moved * twist_change.head<3>(), map_R_moved * twist_change.tail<3>();
  transition.block<6, 1>(0, kStampOffset) = moved_per_s;
  map_T_base_ = ApplyFixedAxesDifference(map_T_base_, stamp_offset_s_ * moved_per_s);
  covariance_ = transition * covariance_ * transition.transpose();

  const double way_m = motion.from_T_to.translation.norm();
  const double angle_rad = RotationDistance(Pose(), motion.from_T_to);
  covariance_.diagonal().head<3>().array() += abs2(errors_.position_sigma_per_metre) * way_m;
  covariance_.diagonal().segment<3>(3).array() +=
      abs2(errors_.rotation_sigma_per_metre) * way_m +
      abs2(errors_.rotation_sigma_per_radian) * angle_rad;
  covariance_.topLeftCorner<6, 6>() += RotateCovariance(map_R_base, motion.extra_covariance);
  // Nothing is known less well than at the start.
  const auto wander = [&](int state, double first_sigma, double share) {
    double& variance = covariance_(state, state);
    variance =
        std::max(variance, std::min(variance + share * abs2(first_sigma), abs2(first_sigma)));
  };
  wander(kScale, errors_.scale_sigma, kScaleWanderPerMetre * way_m);
  wander(kYawRateBias, errors_.yaw_rate_bias_sigma_radps, kBiasWanderPerSecond * motion.duration_s);
  wander(kStampOffset, errors_.stamp_offset_sigma_s, kBiasWanderPerSecond * motion.duration_s);
}

Vector6 PoseFilter::Rate() const {
  return base_twist_.has_value() ? FixedAxesRate(*base_twist_, map_T_base_) : Vector6::Zero();
}

Pose PoseFilter::map_T_base_at_stamp() const {
  return ApplyFixedAxesDifference(map_T_base_, -stamp_offset_s_ * Rate());
}

Matrix6 PoseFilter::covariance_at_stamp(double jitter_s) const {
  Eigen::Matrix<double, 6, kStates> at_stamp = Eigen::Matrix<double, 6, kStates>::Identity();
  at_stamp.col(kStampOffset) = -Rate();
  StateCovariance covariance = covariance_;
  covariance(kStampOffset, kStampOffset) += abs2(jitter_s);
  return at_stamp * covariance * at_stamp.transpose();
}

struct PoseFilter::Innovation {
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1> value;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6> covariance;
  Eigen::Matrix<double, kStates, Eigen::Dynamic, 0, kStates, 6> cross;  // of states and value
};

PoseFilter::Innovation PoseFilter::InnovationOf(const PoseObservation& observation) const {
  Innovation innovation;
  innovation.value = observation.axes * FixedAxesDifference(map_T_base_, observation.map_T_base);
  innovation.cross = covariance_.leftCols<6>() * observation.axes.transpose();
  innovation.covariance = observation.axes * innovation.cross.topRows<6>() + observation.covariance;
  return innovation;
}

double PoseFilter::Distance(const PoseObservation& observation) const {
  if (observation.axes.rows() == 0) return 0.0;
  const Innovation innovation = InnovationOf(observation);
  return innovation.value.dot(innovation.covariance.ldlt().solve(innovation.value));
}

void PoseFilter::Update(const PoseObservation& observation) {
  if (observation.axes.rows() == 0) return;
  const Innovation innovation = InnovationOf(observation);
  const Eigen::Matrix<double, kStates, Eigen::Dynamic, 0, kStates, 6> gain =
      innovation.covariance.ldlt().solve(innovation.cross.transpose()).transpose();
  const Eigen::Matrix<double, kStates, 1> correction = gain * innovation.value;
  // Joseph's form stays positive semidefinite in spite of rounding.
  StateCovariance rest = StateCovariance::Identity();
  rest.leftCols<6>() -= gain * observation.axes;
  covariance_ =
      rest * covariance_ * rest.transpose() + gain * observation.covariance * gain.transpose();
  covariance_ = (0.5 * (covariance_ + covariance_.transpose())).eval();
  map_T_base_ = ApplyFixedAxesDifference(map_T_base_, correction.head<6>());
  scale_ += correction[kScale];
  yaw_rate_bias_radps_ += correction[kYawRateBias];
  stamp_offset_s_ += correction[kStampOffset];
}

void PoseFilter::Forget(const PoseObservation& observation, double variance) {
  covariance_.topLeftCorner<6, 6>() +=
      variance * observation.directions * observation.directions.transpose();
}

void PoseFilter::Place(const Pose& map_T_base, const Matrix6& covariance) {
  map_T_base_ = map_T_base;
  covariance_.topRows<6>().setZero();
  covariance_.leftCols<6>().setZero();
  covariance_.topLeftCorner<6, 6>() = covariance;
}

double PoseFilter::scale_sigma() const { return std::sqrt(covariance_(kScale, kScale)); }

double PoseFilter::stamp_offset_sigma_s() const {
  return std::sqrt(covariance_(kStampOffset, kStampOffset));
}

double PoseFilter::yaw_rate_bias_sigma_radps() const {
  return std::sqrt(covariance_(kYawRateBias, kYawRateBias));
}

}  // namespace voxloc
