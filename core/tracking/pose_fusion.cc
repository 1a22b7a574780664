// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_fusion.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/geometry/stamp.h"

namespace voxloc {
namespace {

using Eigen::numext::abs2;

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
// What an observed number may be wrong by where the prediction is not believed, metres: more than
// any slip, and less than what a scan can be mistaken by without a search.
constexpr double kForgottenSigmaM = 3.0;
// Of observations, as in core/geometry: below it matrices are singular to rounding.
constexpr double kLeastVariance = 1e-12;
// The cosine of 8 degrees. Within it, two directions are the same for what spectra know of them;
// beyond it, a scan after a bend of the road tells what those before it could not.
constexpr double kSameDirection = 0.99;
// Scans that the mean of innovations is of: two seconds at 10 Hz.
constexpr double kInnovationScans = 20.0;
// An axis counts as observed from here on.
constexpr double kObservedShare = 0.5;
// Chi-square quantiles of 0.9999 by degrees of freedom.
constexpr std::array<double, 7> kGate = {0.0, 15.14, 18.42, 21.11, 23.51, 25.74, 27.86};

// For what the errors in common have changed by, and what a map that is not rigid makes of them.
bool Agrees(const PoseFilter& filter, const ObservedPart& part,
            const Matrix6& systematic_covariance) {
  PoseObservation wide = part;
  wide.covariance += part.axes * systematic_covariance * part.axes.transpose();
  return filter.Distance(wide) <= kGate[static_cast<size_t>(part.axes.rows())];
}

// Turns directions, which are orthonormal columns, into those along which a covariance is large,
// where these are the same for what spectra know. They stay orthonormal.
void TurnTowardsUncertainty(const Matrix6& covariance,
                            Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>& directions) {
  if (directions.cols() == 0) return;
  // Each by itself, the most uncertain one first.
  const Eigen::SelfAdjointEigenSolver<
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>>
      within(directions.transpose() * covariance * directions);
  directions = directions * within.eigenvectors().rowwise().reverse();
  for (Eigen::Index k = 0; k < directions.cols(); ++k) {
    const Vector6 direction = directions.col(k);
    const Vector6 open = (covariance * direction).normalized();
    if (open.dot(direction) >= kSameDirection) directions.col(k) = open;
    for (Eigen::Index earlier = 0; earlier < k; ++earlier) {
      directions.col(k) -= directions.col(earlier).dot(directions.col(k)) * directions.col(earlier);
    }
    directions.col(k).normalize();
  }
}

// Where innovations are larger than the covariances say, as of scans that were not deskewed or have
// late stamps, the scans are to blame: their noise is widened by as much.
void WidenByInnovations(const PoseFilter& filter, double& ratio, ObservedPart& part) {
  if (part.axes.rows() == 0) return;
  const double own = filter.Distance(part) / static_cast<double>(part.axes.rows());
  ratio += (own - ratio) / kInnovationScans;
  if (ratio <= 1.0) return;
  const Matrix6 pose = filter.pose_covariance();
  const decltype(part.covariance) predicted = part.axes * pose * part.axes.transpose();
  part.covariance = ((ratio - 1.0) * predicted + ratio * part.covariance).eval();
}

}  // namespace

ScanObservation ObserveByScan(const Pose& map_T_base, const Matrix6& covariance,
                              const Matrix6& systematic_covariance, const Degeneracy& degeneracy,
                              double cell_size_m) {
  // The reference's methods give matrices that need not be positive definite.
  const SymmetricEigen<6> own = DecomposeSymmetric(Matrix6(covariance - systematic_covariance));
  return {map_T_base,
          own.vectors * own.values.cwiseMax(kLeastVariance).asDiagonal() * own.vectors.transpose(),
          systematic_covariance, degeneracy, cell_size_m};
}

ObservedPart PartOf(const ScanObservation& scan, const Matrix6& pose_covariance) {
  ObservedPart part;
  part.map_T_base = scan.map_T_base;
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(scan.degeneracy.rotation_scale_m);
  const Eigen::Matrix3d map_R_base = scan.map_T_base.rotation.toRotationMatrix();
  // By scaled axes: the observed directions as rows, and the others as columns.
  Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6> rows(0, 6);
  Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6> silent(6, 0);
  Vector6 root_weight = Vector6::Zero();
  for (int i = 0; i < 6; ++i) {
    const Vector6 direction = scan.degeneracy.eigenvectors.col(i);
    const double share = scan.degeneracy.eigenvalues[i] / scan.degeneracy.eigenvalues[5];
    const Vector6 form = scale.cwiseProduct(direction);
    const double doubt = std::min(1.0, form.dot(pose_covariance * form) / abs2(scan.cell_size_m));
    const double least = kGatedRatio + doubt * (kObservedRatio - kGatedRatio);
    if (!(share > least)) {
      silent.conservativeResize(6, silent.cols() + 1);
      silent.rightCols<1>() = direction;
      continue;
    }
    const double root = 1.0 - least / share;
    for (int axis = 0; axis < 3; ++axis) {
      const Eigen::Vector3d axis_map = map_R_base.col(axis);
      part.observed[axis] += abs2(root * direction.head<3>().dot(axis_map));
      part.observed[axis + 3] += abs2(root * direction.tail<3>().dot(axis_map));
    }
    root_weight[rows.rows()] = root;
    rows.conservativeResize(rows.rows() + 1, 6);
    rows.bottomRows<1>() = direction;
  }
  TurnTowardsUncertainty(scale.asDiagonal() * pose_covariance * scale.asDiagonal(), silent);
  const Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6> axes = rows * scale.asDiagonal();
  const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1> widen =
      root_weight.head(rows.rows()).cwiseInverse();
  part.covariance =
      widen.asDiagonal() * axes * scan.covariance * axes.transpose() * widen.asDiagonal();
  part.axes = axes - rows * silent * silent.transpose() * scale.asDiagonal();
  part.directions = scale.cwiseInverse().asDiagonal() * rows.transpose();
  return part;
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
    position_sigma_m = 0.5 * kAccelerationMps2 * abs2(duration_s);
    rotation_sigma_rad = 0.5 * kAngularAccelerationRadps2 * abs2(duration_s);
  }
  motion.extra_covariance.diagonal().head<3>().setConstant(abs2(position_sigma_m));
  motion.extra_covariance.diagonal().tail<3>().setConstant(abs2(rotation_sigma_rad));
  return motion;
}

PoseFusion::Prediction PoseFusion::Begin(int64_t stamp_ns,
                                         const std::optional<Pose>& odometry_T_base,
                                         const std::optional<Twist>& base_twist,
                                         const SystematicError& systematic) {
  const double duration_s =
      stamp_ns == 0 || stamp_ns_ == 0 ? 0.0 : SecondsBetween(stamp_ns_, stamp_ns);
  std::optional<ScanMotion> motion;
  std::optional<Twist> twist;
  if (const auto base = MotionTo(duration_s, odometry_T_base, base_twist); base.has_value()) {
    motion = ScanMotion{*base, base->extra_covariance, std::nullopt, false};
    const double way_m = base->from_T_to.translation.norm();
    motion->base.extra_covariance +=
        2.0 * std::min(1.0, way_m / kMapChangeM) *
        SystematicCovariance(systematic, Pose(), std::nullopt).map_and_mounting;
    if (base->duration_s > 0.0) {
      twist = MeanTwist(Pose(), base->from_T_to, base->duration_s);
      if (twist_.has_value()) {
        Vector6 change;
        change << twist->linear_m_s - twist_->linear_m_s,
            twist->angular_rad_s - twist_->angular_rad_s;
        motion->has_slipped = change.head<3>().norm() > kMaxAccelerationMps2 * duration_s;
        change *= std::hypot(systematic.time_sigma_s, systematic.skew_sigma_s);
        motion->base.extra_covariance += change * change.transpose();
      }
    }
    // A sweep that is not deskewed shows the base at a time that varies with what it hits, and a
    // motion by twists or results lags behind by as much as is to be learnt.
    if (systematic.skew_sigma_s == 0.0 && odometry_T_base_.has_value() &&
        odometry_T_base.has_value()) {
      motion->base_twist = base_twist;
    }
  }
  stamp_ns_ = stamp_ns;
  odometry_T_base_ = odometry_T_base;
  twist_ = twist;

  Predict(motion, last_);
  while (!steps_.empty() && (steps_.front().ended || steps_.size() >= kMaxOpenScans)) {
    steps_.pop_front();
  }
  steps_.push_back(
      {++scans_, motion, base_twist, systematic, last_, /*ended=*/false, std::nullopt});
  return {scans_,
          last_.known,
          last_.filter.map_T_base(),
          last_.filter.pose_covariance(),
          last_.motion,
          last_.drive_errors.Adapt(systematic)};
}

void PoseFusion::Predict(const std::optional<ScanMotion>& motion, State& state) {
  if (!motion.has_value()) {
    state.known = false;
    state.rival.reset();
    state.drive_errors.Restart();
    state.base_twist.reset();
    return;
  }
  const Pose before = state.filter.map_T_base();
  const Matrix6 covariance =
      state.filter.MotionCovariance(motion->base) + motion->motion_covariance;
  state.filter.Predict(motion->base);
  const Pose corrected = before.Inverse() * state.filter.map_T_base();
  state.base_twist.reset();
  if (const double duration_s = motion->base.duration_s; duration_s > 0.0) {
    state.base_twist = {MeanTwist(Pose(), corrected, duration_s), covariance / abs2(duration_s)};
  }
  state.drive_errors.Move(corrected, motion->base_twist);
  if (motion->has_slipped) state.drive_errors.Restart();
  if (state.rival.has_value()) state.rival->Predict(motion->base);
  const Pose& moved = motion->base.from_T_to;
  for (double& since_m : state.since_observed_m) since_m += moved.translation.norm();
  state.motion = state.motion * moved;
}

std::string PoseFusion::Observe(const ScanObservation& scan, const SystematicError& systematic,
                                State& state) {
  const bool begins = !state.known;
  if (begins) {
    state.known = true;
    ++state.resets;
    if (scan.guess.has_value()) state.filter.Place(scan.guess->map_T_base, scan.guess->covariance);
  }
  ObservedPart part = PartOf(scan, state.filter.pose_covariance());
  const bool agrees = Agrees(state.filter, part, scan.systematic_covariance);
  if (begins && !(agrees && scan.guess.has_value())) {
    state.filter.Place(scan.map_T_base, scan.covariance);
  } else if (agrees) {
    WidenByInnovations(state.filter, state.innovation_ratio, part);
    state.filter.Update(part);
  } else {
    if (!state.rival.has_value() || !Agrees(*state.rival, part, scan.systematic_covariance)) {
      state.rival = state.filter;
      state.rival->Forget(part, abs2(kForgottenSigmaM));
      state.rival_scans = 0;
    }
    state.rival->Update(part);
    if (++state.rival_scans < kContradictions) {
      return absl::StrCat("the result contradicts the motion since the scans before; it is used ",
                          "where ", kContradictions, " in a row agree with each other");
    }
    state.filter = *state.rival;
    ++state.resets;
    state.drive_errors.Restart();
  }
  if (part.observed.head<3>().minCoeff() >= kObservedShare) {
    state.drive_errors.Observe(scan.map_T_base, systematic);
  }
  state.rival.reset();
  state.motion = Pose();
  for (size_t axis = 0; axis < state.since_observed_m.size(); ++axis) {
    if (part.observed[static_cast<Eigen::Index>(axis)] >= kObservedShare) {
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
      refusal = Observe(*observation, step->systematic, state);
      last_ = state;
      for (auto later = std::next(step); later != steps_.end(); ++later) {
        Predict(later->motion, last_);
        later->before = last_;
        if (later->observation.has_value()) Observe(*later->observation, later->systematic, last_);
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
  fused.base_twist = state.base_twist;
  if (step != steps_.end()) {
    fused.stamp_offset_s = state.drive_errors.StampOffset(step->systematic);
    fused.stamp_sigma_s = state.drive_errors.StampSigma(step->systematic);
    if (step->base_twist.has_value()) {
      fused.map_T_base = ApplyFixedAxesDifference(
          fused.map_T_base,
          -fused.stamp_offset_s * FixedAxesRate(*step->base_twist, fused.map_T_base));
    }
  }
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
