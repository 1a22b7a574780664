// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_state.h"

namespace voxloc::server {
namespace {

PoseBufferOptions ReferencesLike(const PoseBufferOptions& poses) {
  PoseBufferOptions options = ReferenceBufferOptions();
  options.max_poses = poses.max_poses;
  return options;
}

}  // namespace

SessionState::SessionState(const Options& options)
    : options_(options),
      active_(options.active),
      poses_(options.poses),
      references_(ReferencesLike(options.poses)) {
  if (options.recovery.has_value()) policy_.emplace(*options.recovery);
}

absl::Status SessionState::AddPose(const StampedPose& pose) {
  const absl::MutexLock lock(&mutex_);
  if (!active_) return absl::OkStatus();
  return poses_.Push(pose);
}

absl::Status SessionState::AddReference(int64_t stamp_ns, const Eigen::Vector3d& position_map) {
  StampedPose reference;
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
  map_T_odometry_.reset();
  if (policy_.has_value()) policy_->Reset();
}

void SessionState::SetPoseLimits(double timeout_s, double distance_tolerance_m) {
  const absl::MutexLock lock(&mutex_);
  poses_.SetLimits(timeout_s, distance_tolerance_m);
}

SessionState::Place SessionState::TakePlace(int64_t stamp_ns) {
  Place place;
  const absl::MutexLock lock(&mutex_);
  place.active = active_;
  if (!active_) {
    place.status = absl::FailedPreconditionError("the session is not active");
    return place;
  }
  if (const auto pose = poses_.Interpolate(stamp_ns); pose.ok()) {
    poses_.PopOld(stamp_ns);
    place.odometry_T_base = pose->map_T_base;
    place.guess_map_T_base = Relocated(pose->map_T_base);
    // A pose of no covariance has zeros.
    if (!pose->covariance.isZero(0.0) && !map_T_odometry_.has_value()) {
      place.guess_covariance = pose->covariance;
    }
  } else {
    place.status = pose.status();
  }
  if (const auto reference = references_.Interpolate(stamp_ns); reference.ok()) {
    references_.PopOld(stamp_ns);
    place.reference_map = reference->map_T_base.translation;
  }
  return place;
}

Pose SessionState::Relocated(const Pose& odometry_T_base) {
  if (!map_T_odometry_.has_value()) return odometry_T_base;
  // Poses that have come back to the vehicle by themselves are not moved any more.
  const Pose moved = *map_T_odometry_ * odometry_T_base;
  if (TranslationDistance(moved, last_map_T_base_) <
      TranslationDistance(odometry_T_base, last_map_T_base_)) {
    return moved;
  }
  map_T_odometry_.reset();
  return odometry_T_base;
}

Diagnostics SessionState::Finish(ScanGate& gate) {
  const absl::MutexLock lock(&mutex_);
  return gate.Finish(skipped_);
}

void SessionState::Found(const Pose& map_T_base, const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  if (!policy_.has_value()) return;
  Remember(map_T_base, odometry_T_base);
}

void SessionState::Remember(const Pose& map_T_base, const std::optional<Pose>& odometry_T_base) {
  policy_->Found(map_T_base, odometry_T_base);
  last_map_T_base_ = map_T_base;
  if (map_T_odometry_.has_value() && odometry_T_base.has_value()) {
    map_T_odometry_ = map_T_base * odometry_T_base->Inverse();
  }
}

std::optional<RecoverySearch> SessionState::Missed(const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  if (!policy_.has_value()) return std::nullopt;
  policy_->Missed();
  if (searching_) return std::nullopt;
  std::optional<RecoverySearch> search = policy_->NextSearch(odometry_T_base);
  searching_ = search.has_value();
  return search;
}

bool SessionState::EndSearch(const std::optional<Pose>& map_T_base,
                             const std::optional<Pose>& odometry_T_base) {
  const absl::MutexLock lock(&mutex_);
  searching_ = false;
  const bool apply = map_T_base.has_value() && options_.recovery->apply && policy_->lost();
  if (!apply) return false;
  if (odometry_T_base.has_value()) map_T_odometry_ = *map_T_base * odometry_T_base->Inverse();
  Remember(*map_T_base, odometry_T_base);
  return true;
}

}  // namespace voxloc::server
