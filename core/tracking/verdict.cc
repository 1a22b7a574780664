// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/verdict.h"

#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

// What speaks against a result that the reference would accept, in the order of AlignmentStatus.
Verdict Doubt(const AlignResult& result, const ScanEstimate* estimate,
              const AcceptanceLimits& limits) {
  if (result.after.matched_ratio() < limits.min_matched_ratio) {
    return {AlignmentStatus::kLowOverlap,
            absl::StrCat("the matched ratio ", result.after.matched_ratio(), " is below ",
                         limits.min_matched_ratio),
            false};
  }
  if (estimate == nullptr) return {AlignmentStatus::kOk, "", true};
  if (limits.min_confidence > 0.0 &&
      !(estimate->confidence.has_value() && estimate->confidence->value >= limits.min_confidence)) {
    const double confidence = estimate->confidence.has_value() ? estimate->confidence->value : 0.0;
    return {AlignmentStatus::kLowConfidence,
            absl::StrCat("the confidence ", confidence, " is below ", limits.min_confidence),
            false};
  }
  if (const std::optional<RivalPose>& rival = estimate->rival) {
    return {AlignmentStatus::kAmbiguous,
            absl::StrCat("a pose ", TranslationDistance(rival->map_T_base, result.map_T_base),
                         " m away has nvtl ", rival->nvtl),
            true};
  }
  if (estimate->degeneracy.has_value() && estimate->degeneracy->degenerate()) {
    return {AlignmentStatus::kDegenerate, Unobserved(*estimate->degeneracy), true};
  }
  return {AlignmentStatus::kOk, "", true};
}

}  // namespace

Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate, const Profile& profile,
                    const GateOptions& gate, const AcceptanceLimits& limits) {
  if (result.termination == Termination::kDeadline) {
    return {AlignmentStatus::kDeadline, "the deadline passed while the scan was aligned", false};
  }
  if (result.after.matched_points == 0) {
    return {AlignmentStatus::kOutOfMap, "no point has a map cell near it", false};
  }
  switch (JudgeInDetail(result, profile, gate.max_oscillations).acceptance) {
    case Acceptance::kNotConverged:
      return {AlignmentStatus::kNotConverged, NotConverged(result), false};
    case Acceptance::kLowScore:
      return {AlignmentStatus::kLowScore, LowScore(result, profile), false};
    case Acceptance::kAccepted:
      break;
  }
  return Doubt(result, estimate, limits);
}

}  // namespace voxloc
