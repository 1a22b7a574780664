// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/track_check.h"

#include "absl/strings/str_format.h"
#include "core/geometry/angles.h"
#include "core/geometry/twist.h"
#include "core/tracking/pose_buffer.h"

namespace voxloc {
namespace {

// Right poses are wrong by 0.5 m at most. A pose extrapolated from two others, p2 + (p2 - p1), then
// differs from the third by at most (1 + 2 + 1) * 0.5 m = 2 m. Right headings are each wrong by at
// most 10 degrees, so two of them differ by at most 20.
constexpr double kPoseToleranceM = 2.0;
constexpr double kHeadingToleranceRad = 20.0 / kDegreesPerRadian;
// What a vehicle does at most: 216 km/h; emergency braking on a dry road; a quick robot that turns
// on the spot, by 200 degrees a second.
constexpr double kMaxSpeedM_s = 60.0;
constexpr double kMaxAccelerationM_s2 = 10.0;
constexpr double kMaxTurnRateRad_s = 3.5;
// After a longer gap there is no useful prediction: the uncertainty is 20 m or more.
constexpr double kMaxGapS = 2.0;
// With a shorter gap, the velocity is dominated by noise.
constexpr double kMinGapS = 0.05;

}  // namespace

std::optional<TrackCheck::Track> TrackCheck::Extend(const Track& track, int64_t stamp_ns,
                                                    const Pose& map_T_base) {
  if (stamp_ns <= track.stamp_ns) return std::nullopt;
  const double time_s = SecondsBetween(track.stamp_ns, stamp_ns);
  if (time_s > kMaxGapS) return std::nullopt;
  // In the base's axes halfway: a vehicle that turns continues in its new direction.
  const Eigen::Vector3d velocity_base_m_s =
      MeanTwist(track.map_T_base, map_T_base, time_s).linear_m_s;
  const Eigen::Vector3d expected_base_m_s =
      track.velocity_base_m_s.value_or(Eigen::Vector3d::Zero());
  const double reach_m = track.velocity_base_m_s.has_value()
                             ? 0.5 * kMaxAccelerationM_s2 * time_s * time_s
                             : kMaxSpeedM_s * time_s;
  if (time_s * (velocity_base_m_s - expected_base_m_s).norm() > kPoseToleranceM + reach_m) {
    return std::nullopt;
  }
  if (RotationDistance(track.map_T_base, map_T_base) >
      kHeadingToleranceRad + kMaxTurnRateRad_s * time_s) {
    return std::nullopt;
  }
  Track next = {stamp_ns, map_T_base, track.velocity_base_m_s, track.results + 1};
  if (time_s >= kMinGapS) next.velocity_base_m_s = velocity_base_m_s;
  return next;
}

void TrackCheck::AddMiss() {
  candidate_.reset();
  CountMiss();
}

void TrackCheck::CountMiss() {
  if (++missed_ >= kRequiredInARow) track_.reset();
}

std::string TrackCheck::Add(int64_t stamp_ns, const Pose& map_T_base, bool near_guess) {
  if (stamp_ns == 0) return "";
  const Track alone = {stamp_ns, map_T_base, std::nullopt};
  std::optional<Track> next;
  if (track_.has_value()) next = Extend(*track_, stamp_ns, map_T_base);
  if (!next.has_value() && near_guess) next = alone;
  if (!next.has_value()) {
    candidate_ =
        candidate_.has_value() ? Extend(*candidate_, stamp_ns, map_T_base).value_or(alone) : alone;
    if (candidate_->results < kRequiredInARow) {
      const std::string track =
          track_.has_value()
              ? absl::StrFormat(
                    ", and %.1f m and %.0f degrees from the last accepted one, %.1f s ago",
                    TranslationDistance(track_->map_T_base, map_T_base),
                    kDegreesPerRadian * RotationDistance(track_->map_T_base, map_T_base),
                    SecondsBetween(track_->stamp_ns, stamp_ns))
              : "";
      CountMiss();
      return absl::StrFormat("the pose is far from its guess%s; %d of %d scans in a row agree",
                             track, candidate_->results, kRequiredInARow);
    }
    next = candidate_;
  }
  track_ = next;
  missed_ = 0;
  candidate_.reset();
  return "";
}

}  // namespace voxloc
