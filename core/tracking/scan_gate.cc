// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/scan_gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/geometry/euler.h"
#include "core/geometry/stamp.h"
#include "core/geometry/twist.h"
#include "core/text/number_range.h"
#include "core/tracking/pose_buffer.h"

namespace voxloc {

void Diagnostics::Set(absl::string_view key, const std::variant<bool, int64_t, double>& value) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const DiagnosticEntry& each) { return each.key == key; });
  if (entry != entries_.end()) {
    entry->value = value;
  } else {
    entries_.push_back({std::string(key), value});
  }
}

void Diagnostics::Report(DiagnosticLevel level, absl::string_view text) {
  absl::StrAppend(&text_, text_.empty() ? "" : "; ", text);
  level_ = std::max(level_, level);
}

namespace {

bool IsKnown(ScoreKind kind) {
  return kind == ScoreKind::kTransformProbability || kind == ScoreKind::kNearestVoxelLikelihood;
}

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

absl::Status ValidateGateOptions(const GateOptions& options) {
  return CheckRanges({{"timeout_s", options.timeout_s, AtLeast(0.0)},
                      {"required_distance_m", options.required_distance_m, AtLeast(0.0)},
                      {"initial_to_result_distance_tolerance_m",
                       options.initial_to_result_distance_tolerance_m, AtLeast(0.0)},
                      {"max_execution_time_s", options.max_execution_time_s, AtLeast(0.0)},
                      {"max_oscillations", options.max_oscillations, AtLeast(0)},
                      {"max_skipped_scans", options.max_skipped_scans, AtLeast(1)}});
}

Rejection ScanGate::BeforeAlign(const ScanFacts& facts) {
  active_ = facts.active;
  diagnostics_.SetInt("topic_time_stamp", facts.stamp_ns);
  diagnostics_.SetInt("sensor_points_size", static_cast<int64_t>(facts.points));
  if (!facts.malformed.ok()) {
    diagnostics_.Error(absl::StrCat("the scan is malformed: ", facts.malformed.message()));
    return Rejection::kMalformed;
  }
  if (facts.points == 0) {
    diagnostics_.Warn("the scan has no points");
    return Rejection::kNoPoints;
  }
  diagnostics_.SetDouble("sensor_points_delay_time_sec", facts.delay_s);
  if (facts.delay_s > options_.timeout_s) {
    diagnostics_.Warn(absl::StrCat("the scan should be at most ", options_.timeout_s,
                                   " s old (got ", facts.delay_s, " s)"));
  }
  diagnostics_.SetBool("is_succeed_transform_sensor_points", facts.transform.ok());
  if (!facts.transform.ok()) {
    diagnostics_.Error(absl::StrCat("the points could not be moved into the base frame: ",
                                    facts.transform.message()));
    return Rejection::kNoTransform;
  }
  diagnostics_.SetDouble("sensor_points_max_distance", facts.max_distance_m);
  if (facts.max_distance_m < options_.required_distance_m) {
    diagnostics_.Warn(absl::StrCat("the farthest point is ", facts.max_distance_m,
                                   " m away; required are ", options_.required_distance_m, " m"));
    return Rejection::kTooNear;
  }
  diagnostics_.SetBool("is_activated", facts.active);
  if (!facts.active) {
    diagnostics_.Warn("the session is not active");
    return Rejection::kInactive;
  }
  diagnostics_.SetBool("is_succeed_interpolate_initial_pose", facts.guess.ok());
  if (!facts.guess.ok()) {
    diagnostics_.Warn(absl::StrCat("there is no guess: ", facts.guess.message()));
    return Rejection::kNoGuess;
  }
  if (facts.out_of_map_range) diagnostics_.Warn("the scan may reach beyond the map");
  diagnostics_.SetBool("is_set_map_points", facts.has_map);
  if (!facts.has_map) {
    diagnostics_.Warn("there is no map");
    return Rejection::kNoMap;
  }
  return Rejection::kNone;
}

bool ScanGate::AfterAlign(const AlignResult& result, const Profile& profile,
                          const Pose& map_T_base_guess, double execution_time_s) {
  const Judgement judgement = JudgeInDetail(result, profile, options_.max_oscillations);
  diagnostics_.SetInt("iteration_num", result.iterations);
  if (!judgement.under_iteration_limit) {
    diagnostics_.Warn(
        absl::StrCat("the search ended at its limit, after ", result.iterations, " iterations"));
  }
  if (!judgement.finished) {
    diagnostics_.Warn(absl::StrCat("the search ended early: ", ToString(result.termination)));
  }
  diagnostics_.SetInt("local_optimal_solution_oscillation_num", result.oscillations);
  if (judgement.oscillating) {
    diagnostics_.Warn(absl::StrCat("the search should oscillate at most ",
                                   options_.max_oscillations, " times (got ", result.oscillations,
                                   ")"));
  }
  if (!CheckScores(result, profile, judgement)) return false;
  accepted_ = judgement.acceptance == Acceptance::kAccepted;

  const double distance_m = (result.map_T_base.translation - map_T_base_guess.translation).norm();
  diagnostics_.SetDouble("distance_initial_to_result", distance_m);
  if (distance_m > options_.initial_to_result_distance_tolerance_m) {
    diagnostics_.Warn(absl::StrCat("the result should be at most ",
                                   options_.initial_to_result_distance_tolerance_m,
                                   " m from the guess (got ", distance_m, " m)"));
  }
  diagnostics_.SetDouble("execution_time", execution_time_s * 1e3);
  if (execution_time_s > options_.max_execution_time_s) {
    diagnostics_.Warn(absl::StrCat("the scan should take at most ",
                                   options_.max_execution_time_s * 1e3, " ms (got ",
                                   execution_time_s * 1e3, " ms)"));
  }
  return accepted_;
}

bool ScanGate::CheckScores(const AlignResult& result, const Profile& profile,
                           const Judgement& judgement) {
  const double tp = result.after.transform_probability;
  const double nvtl = result.after.nearest_voxel_likelihood;
  diagnostics_.SetDouble("transform_probability", tp);
  diagnostics_.SetDouble("nearest_voxel_transformation_likelihood", nvtl);
  if (!IsKnown(profile.acceptance_score)) {
    diagnostics_.Error(absl::StrCat("the profile judges by a score of unknown type ",
                                    static_cast<int>(profile.acceptance_score)));
    return false;
  }
  // Scores before and after need at least two evaluations. A search that did not evaluate the end
  // of its last step has no score after.
  if (result.evaluations > result.iterations) {
    const double tp_before = result.before.transform_probability;
    const double nvtl_before = result.before.nearest_voxel_likelihood;
    diagnostics_.SetDouble("transform_probability_diff", tp - tp_before);
    diagnostics_.SetDouble("transform_probability_before", tp_before);
    diagnostics_.SetDouble("nearest_voxel_transformation_likelihood_diff", nvtl - nvtl_before);
    diagnostics_.SetDouble("nearest_voxel_transformation_likelihood_before", nvtl_before);
  } else {
    diagnostics_.Warn(absl::StrCat("the scores of ", result.iterations,
                                   " iterations are not complete: ", result.evaluations,
                                   " evaluations"));
  }
  if (!judgement.over_threshold) {
    diagnostics_.Warn(absl::StrCat(profile.acceptance_score == ScoreKind::kTransformProbability
                                       ? "transform_probability"
                                       : "nearest_voxel_transformation_likelihood",
                                   " must be over ", profile.acceptance_threshold, " (got ",
                                   judgement.score, ")"));
  }
  return true;
}

void ScanGate::Reject(absl::string_view why) {
  diagnostics_.Warn(why);
  accepted_ = false;
}

Diagnostics ScanGate::Finish(SkippedScans& skipped) {
  const int64_t count = skipped.Count(accepted_, active_);
  diagnostics_.SetInt("skipping_publish_num", count);
  if (count >= options_.max_skipped_scans) {
    diagnostics_.Warn(absl::StrCat("no result of the last ", count, " scans was accepted"));
  }
  return std::move(diagnostics_);
}

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
                    std::abs(SecondsBetween(track_->stamp_ns, stamp_ns)))
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
