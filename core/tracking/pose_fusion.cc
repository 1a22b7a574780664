// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_fusion.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

// Longest time between two scans over which a motion is believed, seconds. Over a longer one, as
// over a jump of the clock, the odometry alone counts, without a bias of its yaw rate.
constexpr double kMaxMotionS = 10.0;
// A faster odometry has jumped: metres per second, and metres where no time is known.
constexpr double kMaxSpeedMps = 100.0;
constexpr double kMaxStepM = 10.0;
// Accelerations of a road vehicle that brakes or turns hard: what a motion by a twist, or by none,
// may be wrong by.
constexpr double kAccelerationMps2 = 3.0;
constexpr double kAngularAccelerationRadps2 = 1.0;
constexpr double kUnknownSpeedMps = 20.0;
constexpr double kUnknownTurnRadps = 0.5;
// The way over which systematic errors change to independent ones: a third of the wavelength of
// the simulator's map distortions (sim::MapDriftOptions).
constexpr double kMapChangeM = 20.0;
// What an observed number may be wrong by where the prediction is not believed, metres: more than
// any slip, and less than what a scan can be mistaken by without a search.
constexpr double kForgottenSigmaM = 3.0;
// Of observations, as in core/geometry: below it matrices are singular to rounding.
constexpr double kLeastVariance = 1e-12;
// An axis counts as observed from here on.
constexpr double kObservedShare = 0.5;
// Chi-square quantiles of 0.9999 by degrees of freedom.
constexpr std::array<double, 7> kGate = {0.0, 15.14, 18.42, 21.11, 23.51, 25.74, 27.86};

double Square(double value) { return value * value; }

// For what the errors in common have changed by, and what a map that is not rigid makes of them.
bool Agrees(const PoseFilter& filter, const ScanObservation& observation) {
  PoseObservation wide = observation;
  wide.covariance +=
      observation.axes * observation.systematic_covariance * observation.axes.transpose();
  return filter.Distance(wide) <= kGate[static_cast<size_t>(observation.axes.rows())];
}

}  // namespace

ScanObservation ObserveByScan(const Pose& map_T_base, const Matrix6& covariance,
                              const Matrix6& systematic_covariance, const Degeneracy& degeneracy) {
  ScanObservation observation;
  observation.map_T_base = map_T_base;
  observation.systematic_covariance = systematic_covariance;
  // The reference's methods give matrices that need not be positive definite.
  const SymmetricEigen<6> own = DecomposeSymmetric(Matrix6(covariance - systematic_covariance));
  observation.pose_covariance =
      own.vectors * own.values.cwiseMax(kLeastVariance).asDiagonal() * own.vectors.transpose();
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(degeneracy.rotation_scale_m);
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  Vector6 root_weight = Vector6::Zero();
  Eigen::Index rows = 0;
  for (int i = 0; i < 6; ++i) {
    const double share = degeneracy.eigenvalues[i] / degeneracy.eigenvalues[5];
    if (!(share > kGatedRatio)) continue;
    const double root = 1.0 - kGatedRatio / share;
    const Vector6 direction = degeneracy.eigenvectors.col(i);
    for (int axis = 0; axis < 3; ++axis) {
      const Eigen::Vector3d axis_map = map_R_base.col(axis);
      observation.observed[axis] += Square(root * direction.head<3>().dot(axis_map));
      observation.observed[axis + 3] += Square(root * direction.tail<3>().dot(axis_map));
    }
    root_weight[rows++] = root;
    observation.axes.conservativeResize(rows, 6);
    observation.axes.row(rows - 1) = direction.cwiseProduct(scale);
    observation.directions.conservativeResize(6, rows);
    observation.directions.col(rows - 1) = direction.cwiseQuotient(scale);
  }
  const auto widen = root_weight.head(rows).cwiseInverse().asDiagonal();
  observation.covariance =
      widen * observation.axes * observation.pose_covariance * observation.axes.transpose() * widen;
  return observation;
}

std::optional<BaseMotion> PoseFusion::MotionTo(double duration_s,
                                               const std::optional<Pose>& odometry_T_base,
                                               const std::optional<Twist>& base_twist) const {
  const bool timed = duration_s > 0.0 && duration_s <= kMaxMotionS;
  BaseMotion motion;
  motion.duration_s = timed ? duration_s : 0.0;
  if (odometry_T_base_.has_value() && odometry_T_base.has_value()) {
    motion.from_T_to = odometry_T_base_->Inverse() * *odometry_T_base;
    const double most_m = kMaxStepM + kMaxSpeedMps * (timed ? duration_s : 0.0);
    if (!(motion.from_T_to.translation.norm() <= most_m)) return std::nullopt;
    return motion;
  }
  if (!timed) return std::nullopt;
  double position_sigma_m = kUnknownSpeedMps * duration_s;
  double rotation_sigma_rad = kUnknownTurnRadps * duration_s;
  if (base_twist.has_value()) {
    motion.from_T_to = IntegrateTwist(*base_twist, duration_s);
    position_sigma_m = 0.5 * kAccelerationMps2 * Square(duration_s);
    rotation_sigma_rad = 0.5 * kAngularAccelerationRadps2 * Square(duration_s);
  }
  motion.extra_covariance.diagonal().head<3>().setConstant(Square(position_sigma_m));
  motion.extra_covariance.diagonal().tail<3>().setConstant(Square(rotation_sigma_rad));
  return motion;
}

PoseFusion::Prediction PoseFusion::Begin(int64_t stamp_ns,
                                         const std::optional<Pose>& odometry_T_base,
                                         const std::optional<Twist>& base_twist,
                                         const SystematicError& systematic) {
  const double duration_s =
      stamp_ns == 0 || stamp_ns_ == 0
          ? 0.0
          : (static_cast<double>(stamp_ns) - static_cast<double>(stamp_ns_)) * 1e-9;
  std::optional<BaseMotion> motion = MotionTo(duration_s, odometry_T_base, base_twist);
  std::optional<Twist> twist;
  if (motion.has_value()) {
    const double way_m = motion->from_T_to.translation.norm();
    motion->extra_covariance +=
        2.0 * std::min(1.0, way_m / kMapChangeM) *
        SystematicCovariance(systematic, Pose(), std::nullopt).map_and_mounting;
    if (motion->duration_s > 0.0) {
      twist = MeanTwist(Pose(), motion->from_T_to, motion->duration_s);
      if (twist_.has_value()) {
        Vector6 change;
        change << twist->linear_m_s - twist_->linear_m_s,
            twist->angular_rad_s - twist_->angular_rad_s;
        change *= systematic.time_sigma_s;
        motion->extra_covariance += change * change.transpose();
      }
    }
  }
  stamp_ns_ = stamp_ns;
  odometry_T_base_ = odometry_T_base;
  twist_ = twist;

  Predict(motion, last_);
  while (!steps_.empty() && (steps_.front().ended || steps_.size() >= kMaxOpenScans)) {
    steps_.pop_front();
  }
  steps_.push_back({++scans_, motion, last_, /*ended=*/false, std::nullopt});
  return {scans_, last_.known, last_.filter.map_T_base(), last_.filter.pose_covariance(),
          last_.motion};
}

void PoseFusion::Predict(const std::optional<BaseMotion>& motion, State& state) {
  if (!motion.has_value()) {
    state.known = false;
    state.rival.reset();
    return;
  }
  state.filter.Predict(*motion);
  if (state.rival.has_value()) state.rival->Predict(*motion);
  for (double& way_m : state.since_observed_m) way_m += motion->from_T_to.translation.norm();
  state.motion = state.motion * motion->from_T_to;
}

std::string PoseFusion::Observe(const ScanObservation& observation, State& state) {
  const auto start = [&] {
    state.filter.Place(observation.map_T_base, observation.pose_covariance);
    state.known = true;
    ++state.resets;
  };
  if (!state.known) {
    start();
  } else if (Agrees(state.filter, observation)) {
    state.filter.Update(observation);
  } else {
    if (!state.rival.has_value() || !Agrees(*state.rival, observation)) {
      state.rival = state.filter;
      state.rival->Forget(observation, Square(kForgottenSigmaM));
      state.rival_scans = 0;
    }
    state.rival->Update(observation);
    if (++state.rival_scans < kContradictions) {
      return absl::StrCat("the result contradicts the motion since the scans before; it is used ",
                          "where ", kContradictions, " in a row agree with each other");
    }
    state.filter = *state.rival;
    ++state.resets;
  }
  state.rival.reset();
  state.motion = Pose();
  for (size_t axis = 0; axis < state.since_observed_m.size(); ++axis) {
    if (observation.observed[static_cast<Eigen::Index>(axis)] >= kObservedShare) {
      state.since_observed_m[axis] = 0.0;
    }
  }
  return "";
}

std::optional<FusedPose> PoseFusion::End(uint64_t scan, const ScanObservation* observation) {
  const auto step = std::find_if(steps_.begin(), steps_.end(),
                                 [&](const Step& candidate) { return candidate.scan == scan; });
  std::string refusal = "the scan has no accepted result";
  State state = step == steps_.end() ? last_ : step->before;
  if (step == steps_.end()) {
    refusal = "the result came too late";  // or the pose has been forgotten since
  } else {
    step->ended = true;
    if (observation != nullptr) {
      step->observation = *observation;
      refusal = Observe(*observation, state);
      last_ = state;
      for (auto later = std::next(step); later != steps_.end(); ++later) {
        Predict(later->motion, last_);
        later->before = last_;
        if (later->observation.has_value()) Observe(*later->observation, last_);
      }
    }
  }
  if (!state.known) return std::nullopt;
  FusedPose fused;
  fused.map_T_base = state.filter.map_T_base();
  fused.covariance = state.filter.pose_covariance();
  fused.since_observed_m = state.since_observed_m;
  fused.resets = state.resets;
  fused.refusal = std::move(refusal);
  fused.scale = state.filter.scale();
  fused.scale_sigma = state.filter.scale_sigma();
  fused.yaw_rate_bias_radps = state.filter.yaw_rate_bias_radps();
  fused.yaw_rate_bias_sigma_radps = state.filter.yaw_rate_bias_sigma_radps();
  return fused;
}

void PoseFusion::Clear() {
  Predict(std::nullopt, last_);
  steps_.clear();
  stamp_ns_ = 0;
  odometry_T_base_.reset();
  twist_.reset();
}

}  // namespace voxloc
