// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/track_check.h"

#include "absl/strings/str_format.h"
#include "core/geometry/angles.h"
#include "core/geometry/twist.h"
#include "core/tracking/stamp_distance.h"

namespace voxloc {
namespace {

// A right pose is 2 m at most from where two others lead if each of them is up to half a metre off:
// once for itself, twice for the last, once for the one before. Two right headings are each up to
// 10 degrees off, beyond which they would be wrong ones.
constexpr double kPosesOffM = 2.0;
constexpr double kHeadingsOffRad = 20.0 / kDegreesPerRadian;
// What a vehicle does at most: 216 km/h; emergency braking on a dry road; a quick robot that turns
// on the spot, by 200 degrees a second.
constexpr double kFastestM_s = 60.0;
constexpr double kAccelerationM_s2 = 10.0;
constexpr double kTurnRad_s = 3.5;
// After that, the above says nothing any more: a vehicle that brakes is anywhere within 20 m.
constexpr double kLongestGapS = 2.0;
// Between results that are nearer in time, their noise makes the velocity.
constexpr double kShortestGapS = 0.05;

}  // namespace

std::optional<TrackCheck::Track> TrackCheck::Follow(const Track& track, int64_t stamp_ns,
                                                    const Pose& map_T_base) {
  if (stamp_ns <= track.stamp_ns) return std::nullopt;
  const double time_s = SecondsBetween(track.stamp_ns, stamp_ns);
  if (time_s > kLongestGapS) return std::nullopt;
  // In the base's axes halfway: a vehicle that turns goes on in its new direction.
  const Eigen::Vector3d velocity_base_m_s =
      MeanTwist(track.map_T_base, map_T_base, time_s).linear_m_s;
  const Eigen::Vector3d expected_base_m_s =
      track.velocity_base_m_s.value_or(Eigen::Vector3d::Zero());
  const double reach_m = track.velocity_base_m_s.has_value()
                             ? 0.5 * kAccelerationM_s2 * time_s * time_s
                             : kFastestM_s * time_s;
  if (time_s * (velocity_base_m_s - expected_base_m_s).norm() > kPosesOffM + reach_m) {
    return std::nullopt;
  }
  if (RotationDistance(track.map_T_base, map_T_base) > kHeadingsOffRad + kTurnRad_s * time_s) {
    return std::nullopt;
  }
  Track next = {stamp_ns, map_T_base, track.velocity_base_m_s, track.results + 1};
  if (time_s >= kShortestGapS) next.velocity_base_m_s = velocity_base_m_s;
  return next;
}

void TrackCheck::Miss() {
  candidate_.reset();
  CountMissed();
}

void TrackCheck::CountMissed() {
  if (++missed_ >= kInARow) track_.reset();
}

std::string TrackCheck::Add(int64_t stamp_ns, const Pose& map_T_base, bool near_guess) {
  if (stamp_ns == 0) return "";
  const Track alone = {stamp_ns, map_T_base, std::nullopt};
  std::optional<Track> next;
  if (track_.has_value()) next = Follow(*track_, stamp_ns, map_T_base);
  if (!next.has_value() && near_guess) next = alone;
  if (!next.has_value()) {
    candidate_ =
        candidate_.has_value() ? Follow(*candidate_, stamp_ns, map_T_base).value_or(alone) : alone;
    if (candidate_->results < kInARow) {
      const std::string track =
          track_.has_value()
              ? absl::StrFormat(
                    ", and %.1f m and %.0f degrees from the last accepted one, %.1f s ago",
                    TranslationDistance(track_->map_T_base, map_T_base),
                    kDegreesPerRadian * RotationDistance(track_->map_T_base, map_T_base),
                    SecondsBetween(track_->stamp_ns, stamp_ns))
              : "";
      CountMissed();
      return absl::StrFormat("the pose is far from its guess%s; %d of %d scans in a row agree",
                             track, candidate_->results, kInARow);
    }
    next = candidate_;
  }
  track_ = next;
  missed_ = 0;
  candidate_.reset();
  return "";
}

}  // namespace voxloc
