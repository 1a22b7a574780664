// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_state.h"

#include <cmath>
#include <utility>

#include "core/geometry/stamp.h"

namespace voxloc::server {
namespace {

PoseBufferOptions ReferencesLike(const PoseBufferOptions& poses) {
  PoseBufferOptions options = ReferenceBufferOptions();
  options.max_poses = poses.max_poses;
  return options;
}

// The longest time between the two poses of a twist, and the longest validity of a twist: as
// PoseBufferOptions::timeout_s.
constexpr double kMaxGapS = 1.0;
// Below it rounding errors of the poses dominate the twist. Odometry has at most 1 kHz.
constexpr double kMinGapS = 0.9e-3;

std::optional<Twist> TwistBetween(int64_t from_ns, const Pose& from, int64_t to_ns,
                                  const Pose& to) {
  const double duration_s = SecondsBetween(from_ns, to_ns);
  if (!(duration_s >= kMinGapS && duration_s <= kMaxGapS)) return std::nullopt;
  return MeanTwist(from, to, duration_s);
}

}  // namespace

SessionState::SessionState(const Options& options)
    : options_(options),
      active_(options.active),
      poses_(options.poses),
      references_(ReferencesLike(options.poses)),
      last_map_T_base_(options.last_map_T_base),
      history_(options.accumulation.value_or(AccumulationOptions())) {
  if (options.fusion.has_value()) fusion_.emplace(*options.fusion);
  if (!options.recovery.has_value()) return;
  policy_.emplace(*options.recovery);
  if (last_map_T_base_.has_value()) policy_->Found(*last_map_T_base_, std::nullopt);
}

absl::Status SessionState::AddPose(const BufferedPose& pose) {
  const absl::MutexLock lock(&mutex_);
  if (!active_) return absl::OkStatus();
  return poses_.Push(pose);
}

absl::Status SessionState::AddReference(int64_t stamp_ns, const Eigen::Vector3d& position_map) {
  BufferedPose reference;
  reference.stamp_ns = stamp_ns;
  reference.map_T_base.translation = position_map;
  const absl::MutexLock lock(&mutex_);
  return references_.Push(reference);
}

void SessionState::Activate(bool active) {
  const absl::MutexLock lock(&mutex_);
  active_ = active;
  if (!active) return;
  poses_.Clear();
  history_.Clear();
  sweeps_.Clear();
  track_.Reset();
  accepted_.reset();
  previous_accepted_.reset();
  carried_.reset();
  last_map_T_base_.reset();
  odometry_.reset();
  scan_odometry_.reset();
  anchor_.Reset();
  if (fusion_.has_value()) fusion_->Clear();
  proposal_.reset();
  correction_.reset();
  if (policy_.has_value()) policy_->Reset();
}

SessionState::ScanPrior SessionState::TakePrior(int64_t stamp_ns,
                                                const std::optional<Pose>& odom_T_base) {
  ScanPrior prior;
  prior.odom_T_base = odom_T_base;
  const absl::MutexLock lock(&mutex_);
  prior.active = active_;
  if (!active_) {
    prior.status = absl::FailedPreconditionError("the session is not active");
    return prior;
  }
  prior.base_twist = TwistByPoses(stamp_ns);
  if (odom_T_base.has_value()) {
    const auto twist = TwistByOdometry(stamp_ns, *odom_T_base);
    if (!prior.base_twist.has_value()) prior.base_twist = twist;
  }
  if (!prior.base_twist.has_value()) prior.base_twist = TwistByResults(stamp_ns);
  if (const auto pose = poses_.Interpolate(stamp_ns); pose.ok()) {
    poses_.PopOld(stamp_ns);
    if (!odometry_.has_value()) odometry_ = Odometry::kPoses;
    if (odometry_ == Odometry::kPoses) prior.odometry_T_base = pose->map_T_base;
    prior.older = pose->older;
    prior.newer = pose->newer;
    prior.corrected = correction_.has_value();
    prior.guess_map_T_base =
        prior.corrected ? correction_->Apply(pose->map_T_base) : pose->map_T_base;
    // A pose of no covariance has zeros.
    if (!pose->covariance.isZero(0.0) && !prior.corrected) {
      prior.guess_covariance = pose->covariance;
    }
  } else if (odom_T_base.has_value() && carried_.has_value()) {
    prior.guess_map_T_base = carried_->At(odom_T_base);
    prior.carried_by = carried_->odometry_T_base->Inverse() * *odom_T_base;
  } else if (last_map_T_base_.has_value()) {
    prior.guess_map_T_base = *last_map_T_base_;
  } else if (poses_.size() == 0) {
    prior.status = absl::FailedPreconditionError(
        carried_.has_value()
            ? "the scan must have odom_t_base, as the last accepted one had"
            : "no pose of the vehicle is known; give an initial pose (guess_map_t_base of a scan, "
              "or initialpose in ROS), send poses, open with from_last_pose, or search");
  } else {
    prior.status = pose.status();
  }
  if (odom_T_base.has_value()) {
    if (!odometry_.has_value()) odometry_ = Odometry::kScans;
    if (odometry_ == Odometry::kScans) prior.odometry_T_base = odom_T_base;
  }
  anchor_.Update(prior.odometry_T_base);
  prior.anchor = anchor_;
  if (const auto reference = references_.Interpolate(stamp_ns); reference.ok()) {
    references_.PopOld(stamp_ns);
    prior.reference_map = reference->map_T_base.translation;
  }
  return prior;
}

std::optional<Twist> SessionState::TwistByPoses(int64_t stamp_ns) const {
  const auto pose = poses_.Interpolate(stamp_ns);
  if (!pose.ok()) return std::nullopt;
  return TwistBetween(pose->older.stamp_ns, pose->older.map_T_base, pose->newer.stamp_ns,
                      pose->newer.map_T_base);
}

std::optional<Twist> SessionState::TwistByOdometry(int64_t stamp_ns, const Pose& odom_T_base) {
  const auto before =
      std::exchange(scan_odometry_, ScanOdometry{stamp_ns, odom_T_base, std::nullopt, 0.0});
  if (!before.has_value()) return std::nullopt;
  const double duration_s = SecondsBetween(before->stamp_ns, stamp_ns);
  scan_odometry_->duration_s = duration_s;
  scan_odometry_->mean_twist =
      TwistBetween(before->stamp_ns, before->odom_T_base, stamp_ns, odom_T_base);
  if (!scan_odometry_->mean_twist.has_value() || !before->mean_twist.has_value()) {
    return scan_odometry_->mean_twist;
  }
  // From the middle of the motion on with the acceleration since the middle of the one before it.
  Twist twist = *scan_odometry_->mean_twist;
  const double share = duration_s / (before->duration_s + duration_s);
  const Eigen::Vector3d change_m_s = share * (twist.linear_m_s - before->mean_twist->linear_m_s);
  if (change_m_s.norm() > kMaxAccelerationMps2 * 0.5 * duration_s) return twist;
  twist.linear_m_s += change_m_s;
  twist.angular_rad_s += share * (twist.angular_rad_s - before->mean_twist->angular_rad_s);
  return twist;
}

std::optional<Twist> SessionState::TwistByResults(int64_t stamp_ns) const {
  if (!previous_accepted_.has_value() ||
      std::abs(SecondsBetween(accepted_->stamp_ns, stamp_ns)) > kMaxGapS) {
    return std::nullopt;
  }
  return TwistBetween(previous_accepted_->stamp_ns, previous_accepted_->map_T_base,
                      accepted_->stamp_ns, accepted_->map_T_base);
}

void SessionState::CheckTrack(int64_t stamp_ns, const Pose& map_T_base, bool near_guess,
                              Verdict& verdict) {
  const absl::MutexLock lock(&mutex_);
  if (!verdict.accepted) {
    track_.AddMiss();
    return;
  }
  std::string deviation = track_.Add(stamp_ns, map_T_base, near_guess);
  if (deviation.empty()) return;
  verdict = {AlignmentStatus::kLowConfidence, std::move(deviation), /*accepted=*/false,
             std::nullopt};
}

void SessionState::Found(int64_t stamp_ns, const Pose& map_T_base, const ScanPrior& prior,
                         const FoundFacts& facts) {
  const absl::MutexLock lock(&mutex_);
  previous_accepted_ = accepted_;
  accepted_ = AcceptedResult{stamp_ns, map_T_base};
  last_map_T_base_.reset();
  if (prior.odom_T_base.has_value()) carried_ = PropagatedPose{map_T_base, prior.odom_T_base};
  if (facts.observed && prior.odometry_T_base.has_value()) {
    anchor_.Set(map_T_base, *prior.odometry_T_base);
  }
  if (!policy_.has_value()) return;
  policy_->Found(map_T_base, prior.odometry_T_base);
  proposal_.reset();
  if (correction_.has_value() && prior.odometry_T_base.has_value() &&
      !correction_->Update(map_T_base, *prior.odometry_T_base, facts.uncorrected_suffices)) {
    correction_.reset();
  }
}

std::optional<RecoveryStep> SessionState::Missed(const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  if (!policy_.has_value()) return std::nullopt;
  policy_->Missed();
  if (step_in_progress_) return std::nullopt;
  std::optional<RecoveryStep> step;
  if (proposal_.has_value()) {
    step = ProposalToCheck{proposal_->Expected(odometry_T_base)};
  } else if (const auto search = policy_->NextSearch(odometry_T_base); search.has_value()) {
    step = *search;
  }
  step_in_progress_ = step.has_value();
  return step;
}

RecoveryOutcome SessionState::EndSearch(const std::optional<Pose>& map_T_base,
                                        const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  step_in_progress_ = false;
  if (!map_T_base.has_value()) return {ProposalState::kNone};
  // The vehicle may have been found while the search ran.
  if (!policy_->lost()) return {ProposalState::kDropped};
  proposal_.emplace(*map_T_base, odometry_T_base, options_.recovery->confirmation,
                    options_.recovery->min_confirmation_travel_m);
  return {ProposalState::kPending};
}

RecoveryOutcome SessionState::EndProposalCheck(const std::optional<Pose>& map_T_base,
                                               const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  step_in_progress_ = false;
  // The vehicle may have been found while the check ran.
  if (!proposal_.has_value()) return {ProposalState::kDropped};
  proposal_->Check(map_T_base, odometry_T_base);
  RecoveryOutcome outcome = proposal_->outcome();
  outcome.applied = outcome.decided && outcome.state == ProposalState::kConfirmed &&
                    map_T_base.has_value() && options_.recovery->apply;
  if (outcome.applied) {
    track_.Reset();
    policy_->Found(*map_T_base, odometry_T_base);
    anchor_.Reset();
    if (fusion_.has_value()) fusion_->Clear();
    if (odometry_T_base.has_value()) {
      if (odometry_ == Odometry::kScans) {
        carried_ = PropagatedPose{*map_T_base, odometry_T_base};
      } else {
        correction_.emplace(*map_T_base, *odometry_T_base, options_.recovery->confirmation);
      }
    }
  }
  if (outcome.applied || outcome.state == ProposalState::kDropped) proposal_.reset();
  return outcome;
}

void SessionState::AbandonStep(const RecoveryStep& step) {
  const absl::MutexLock lock(&mutex_);
  step_in_progress_ = false;
  if (std::holds_alternative<RecoverySearch>(step)) policy_->UndoSearch();
}

}  // namespace voxloc::server
