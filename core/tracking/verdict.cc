// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/verdict.h"

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

std::string LowScore(const AlignResult& result, const Profile& profile) {
  const bool tp = profile.acceptance_score == ScoreKind::kTransformProbability;
  return absl::StrCat(
      tp ? "transform probability " : "nvtl ",
      tp ? result.after.transform_probability : result.after.nearest_voxel_likelihood,
      " is not over the threshold ", profile.acceptance_threshold);
}

std::string NotConverged(const AlignResult& result) {
  if (result.termination == Termination::kNotFinite) return "a number overflowed";
  if (result.termination == Termination::kCancelled) return "the search was stopped";
  if (result.termination == Termination::kNoImprovement) {
    return "no pose that was found fits better than the guess";
  }
  return absl::StrCat("a stage ended at its limit of iterations; ", result.iterations,
                      " iterations in all, ", result.oscillations, " oscillations");
}

std::string Unobserved(const Degeneracy& degeneracy) {
  constexpr std::array<absl::string_view, 6> kNames = {"x", "y", "z", "rx", "ry", "rz"};
  std::vector<absl::string_view> axes;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (degeneracy.axes[i] == AxisObservation::kUnobserved) axes.push_back(kNames[i]);
  }
  return absl::StrCat("not observed: ", absl::StrJoin(axes, ", "));
}

// Empty: the confidence suffices.
std::string LowConfidence(const AlignResult& result, const ScanEstimate* estimate, bool strict,
                          const GateOptions& gate, const AcceptanceLimits& limits,
                          const PriorKnowledge& known) {
  const double distance_m = known.map_T_base_guess.has_value()
                                ? TranslationDistance(*known.map_T_base_guess, result.map_T_base)
                                : 0.0;
  const bool far = strict && distance_m > gate.initial_to_result_distance_tolerance_m &&
                   limits.min_confidence < kStrictMinFarConfidence;
  const double least = far ? kStrictMinFarConfidence : limits.min_confidence;
  if (!(least > 0.0)) return "";
  const std::string why =
      far ? absl::StrCat(", required because the result is ", distance_m, " m from the guess") : "";
  if (estimate == nullptr || !estimate->confidence.has_value()) {
    return absl::StrCat("the confidence is not known; it must be at least ", least, why);
  }
  const double confidence = estimate->confidence->value;
  return confidence >= least
             ? ""
             : absl::StrCat("the confidence ", confidence, " is below ", least, why);
}

absl::string_view NameOf(PriorSource source) {
  switch (source) {
    case PriorSource::kGuess:
      return "the guess and its covariance";
    case PriorSource::kOdometry:
      return "odometry since the last pose that was observed";
    case PriorSource::kFilter:
      return "the filter of the session";
  }
  return "";
}

Verdict JudgeDegenerate(const AlignResult& result, const Degeneracy& degeneracy, bool strict,
                        const PriorKnowledge& known) {
  const std::string unobserved = Unobserved(degeneracy);
  if (!strict) return {AlignmentStatus::kDegenerate, unobserved, true};
  std::optional<SettledBy> best;
  for (const PriorPose& prior : known.priors) {
    const double within_m = ErrorBoundAlongUnobserved(degeneracy, result.map_T_base, prior);
    if (!best.has_value() || within_m < best->within_m) best = SettledBy{prior.source, within_m};
    if (prior.source == PriorSource::kFilter) {
      best = SettledBy{prior.source, within_m};
      break;
    }
  }
  if (!best.has_value()) {
    return {AlignmentStatus::kDegenerate,
            absl::StrCat(unobserved,
                         "; neither a guess with a covariance nor odometry "
                         "says where the vehicle is along it")};
  }
  if (best->source != PriorSource::kFilter && !(best->within_m <= kSettledWithinM)) {
    return {AlignmentStatus::kDegenerate,
            absl::StrCat(unobserved, "; ", NameOf(best->source), " leave ", best->within_m,
                         " m, allowed are ", kSettledWithinM)};
  }
  return {
      AlignmentStatus::kDegenerate,
      absl::StrCat(unobserved, "; known within ", best->within_m, " m from ", NameOf(best->source)),
      true, best};
}

// The checks of a result that the reference would accept, in the order of AlignmentStatus.
Verdict JudgeReliability(const AlignResult& result, const ScanEstimate* estimate, bool strict,
                         const GateOptions& gate, const AcceptanceLimits& limits,
                         const PriorKnowledge& known) {
  if (result.after.matched_ratio() < limits.min_matched_ratio) {
    return {AlignmentStatus::kLowOverlap,
            absl::StrCat("the matched ratio ", result.after.matched_ratio(), " is below ",
                         limits.min_matched_ratio)};
  }
  std::string low_confidence = LowConfidence(result, estimate, strict, gate, limits, known);
  if (!low_confidence.empty()) {
    return {AlignmentStatus::kLowConfidence, std::move(low_confidence)};
  }
  if (estimate == nullptr) return {AlignmentStatus::kOk, "", true};
  if (const std::optional<RivalPose>& rival = estimate->rival) {
    return {AlignmentStatus::kAmbiguous,
            absl::StrCat("a pose ", TranslationDistance(rival->map_T_base, result.map_T_base),
                         " m away has nvtl ", rival->nvtl),
            !strict};
  }
  if (estimate->degeneracy.has_value() && estimate->degeneracy->degenerate()) {
    return JudgeDegenerate(result, *estimate->degeneracy, strict, known);
  }
  return {AlignmentStatus::kOk, "", true};
}

}  // namespace

absl::string_view ToString(AlignmentStatus status) {
  switch (status) {
    case AlignmentStatus::kDeadline:
      return "DEADLINE";
    case AlignmentStatus::kOutOfMap:
      return "OUT_OF_MAP";
    case AlignmentStatus::kNotConverged:
      return "NOT_CONVERGED";
    case AlignmentStatus::kLowScore:
      return "LOW_SCORE";
    case AlignmentStatus::kLowOverlap:
      return "LOW_OVERLAP";
    case AlignmentStatus::kLowConfidence:
      return "LOW_CONFIDENCE";
    case AlignmentStatus::kAmbiguous:
      return "AMBIGUOUS";
    case AlignmentStatus::kDegenerate:
      return "DEGENERATE";
    case AlignmentStatus::kOk:
      return "OK";
  }
  return "UNKNOWN";
}

AcceptanceLimits LimitsOf(const Profile& profile) {
  AcceptanceLimits limits;
  if (profile.acceptance_rule == AcceptanceRule::kStrict) {
    limits.min_confidence = kStrictMinConfidence;
  }
  return limits;
}

Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate, const Profile& profile,
                    const GateOptions& gate, const AcceptanceLimits& limits,
                    const PriorKnowledge& known) {
  if (result.termination == Termination::kDeadline) {
    return {AlignmentStatus::kDeadline, "the deadline passed while the scan was aligned"};
  }
  if (result.after.matched_points == 0) {
    return {AlignmentStatus::kOutOfMap, "no point has a map cell near it"};
  }
  switch (JudgeInDetail(result, profile, gate.max_oscillations).acceptance) {
    case Acceptance::kNotConverged:
      return {AlignmentStatus::kNotConverged, NotConverged(result)};
    case Acceptance::kLowScore:
      return {AlignmentStatus::kLowScore, LowScore(result, profile)};
    case Acceptance::kAccepted:
      break;
  }
  return JudgeReliability(result, estimate, profile.acceptance_rule == AcceptanceRule::kStrict,
                          gate, limits, known);
}

Verdict OutOfMapVerdict(const Bounds& map, const Pose& map_T_base_guess, double reach_m) {
  if (map.finite_points == 0) return {AlignmentStatus::kOutOfMap, "the map has no points"};
  const Eigen::Vector3d& position = map_T_base_guess.translation;
  const Eigen::Vector3d nearest = position.cwiseMax(map.min).cwiseMin(map.max);
  return {AlignmentStatus::kOutOfMap,
          absl::StrCat("the guess lies ", (position - nearest).norm(),
                       " m outside the map, and the scan reaches ", reach_m, " m")};
}

double ErrorBoundAlongUnobserved(const Degeneracy& degeneracy, const Pose& result_map_T_base,
                                 const PriorPose& prior) {
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(degeneracy.rotation_scale_m);
  const Vector6 difference =
      scale.cwiseProduct(FixedAxesDifference(prior.map_T_base, result_map_T_base));
  const Matrix6 covariance = scale.asDiagonal() * prior.covariance * scale.asDiagonal();
  double squared_distance = 0.0;
  double variance = 0.0;
  for (int i = 0; i < degeneracy.unobserved_directions; ++i) {
    const Vector6 direction = degeneracy.eigenvectors.col(i);
    squared_distance += std::pow(direction.dot(difference), 2);
    variance += direction.dot(covariance * direction);
  }
  return std::sqrt(squared_distance) + 2.0 * std::sqrt(variance);
}

void OdometryAnchor::Set(const Pose& map_T_base, const Pose& odometry_T_base) {
  anchor_ = PropagatedPose{map_T_base, odometry_T_base};
  last_odometry_T_base_ = odometry_T_base;
  distance_m_ = 0.0;
  rotation_rad_ = 0.0;
}

void OdometryAnchor::Update(const std::optional<Pose>& odometry_T_base) {
  if (!odometry_T_base.has_value()) anchor_.reset();
  if (!anchor_.has_value()) return;
  distance_m_ += TranslationDistance(last_odometry_T_base_, *odometry_T_base);
  rotation_rad_ += RotationDistance(last_odometry_T_base_, *odometry_T_base);
  last_odometry_T_base_ = *odometry_T_base;
}

std::optional<PriorPose> OdometryAnchor::Prior(double drift) const {
  if (!anchor_.has_value()) return std::nullopt;
  PriorPose prior;
  prior.source = PriorSource::kOdometry;
  prior.map_T_base = anchor_->At(last_odometry_T_base_);
  prior.covariance.diagonal().head<3>().setConstant(std::pow(drift * distance_m_, 2));
  prior.covariance.diagonal().tail<3>().setConstant(std::pow(drift * rotation_rad_, 2));
  return prior;
}

}  // namespace voxloc
