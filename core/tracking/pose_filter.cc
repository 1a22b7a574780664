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
constexpr double kBiasWanderPerSecond = 0.1 * 0.1 / 600.0;   // variance

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
       {"yaw_rate_bias_sigma_radps", errors.yaw_rate_bias_sigma_radps,
        FromTo(0, 1).Unit(" rad/s")}});
}

PoseFilter::PoseFilter(const OdometryErrors& errors) : errors_(errors) {
  covariance_.setZero();
  covariance_(kScale, kScale) = errors.scale_sigma * errors.scale_sigma;
  covariance_(kYawRateBias, kYawRateBias) =
      errors.yaw_rate_bias_sigma_radps * errors.yaw_rate_bias_sigma_radps;
}

Vector6 PoseFilter::NoiseOf(const BaseMotion& motion) const {
  const double way_m = motion.from_T_to.translation.norm();
  const double angle_rad = RotationDistance(Pose(), motion.from_T_to);
  Vector6 variances;
  variances.head<3>().setConstant(abs2(errors_.position_sigma_per_metre) * way_m);
  variances.tail<3>().setConstant(abs2(errors_.rotation_sigma_per_metre) * way_m +
                                  abs2(errors_.rotation_sigma_per_radian) * angle_rad);
  return variances;
}

Matrix6 PoseFilter::MotionCovariance(const BaseMotion& motion) const {
  Matrix6 covariance = NoiseOf(motion).asDiagonal();
  const Eigen::Vector3d& way = motion.from_T_to.translation;
  covariance.topLeftCorner<3, 3>() += covariance_(kScale, kScale) * way * way.transpose();
  covariance(5, 5) += covariance_(kYawRateBias, kYawRateBias) * abs2(motion.duration_s);
  return covariance;
}

void PoseFilter::Predict(const BaseMotion& motion) {
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
  covariance_ = transition * covariance_ * transition.transpose();

  const double way_m = motion.from_T_to.translation.norm();
  covariance_.diagonal().head<6>() += NoiseOf(motion);
  covariance_.topLeftCorner<6, 6>() += RotateCovariance(map_R_base, motion.extra_covariance);
  // Nothing is known less well than at the start.
  const auto wander = [&](int state, double first_sigma, double share) {
    double& variance = covariance_(state, state);
    variance =
        std::max(variance, std::min(variance + share * abs2(first_sigma), abs2(first_sigma)));
  };
  wander(kScale, errors_.scale_sigma, kScaleWanderPerMetre * way_m);
  wander(kYawRateBias, errors_.yaw_rate_bias_sigma_radps, kBiasWanderPerSecond * motion.duration_s);
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

double PoseFilter::yaw_rate_bias_sigma_radps() const {
  return std::sqrt(covariance_(kYawRateBias, kYawRateBias));
}

}  // namespace voxloc
