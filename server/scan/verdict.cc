// SPDX-License-Identifier: Apache-2.0

#include "server/scan/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/estimate/rival_pose.h"

namespace voxloc::server {
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
              const AlignOptions& options) {
  if (result.after.matched_ratio() < options.min_matched_ratio) {
    return {v1::ALIGNMENT_STATUS_LOW_OVERLAP,
            absl::StrCat("the matched ratio ", result.after.matched_ratio(), " is below ",
                         options.min_matched_ratio),
            false};
  }
  if (estimate == nullptr) return {v1::ALIGNMENT_STATUS_OK, "", true};
  if (options.min_confidence > 0.0 && !(estimate->confidence.has_value() &&
                                        estimate->confidence->value >= options.min_confidence)) {
    const double confidence = estimate->confidence.has_value() ? estimate->confidence->value : 0.0;
    return {v1::ALIGNMENT_STATUS_LOW_CONFIDENCE,
            absl::StrCat("the confidence ", confidence, " is below ", options.min_confidence),
            false};
  }
  if (const std::optional<size_t> rival = FindRival(result, estimate->covariance)) {
    const Pose& other = estimate->covariance.aligned_map_T_base[*rival];
    return {v1::ALIGNMENT_STATUS_AMBIGUOUS,
            absl::StrCat("a pose ", TranslationDistance(other, result.map_T_base),
                         " m away has nvtl ", estimate->covariance.nvtl[*rival]),
            true};
  }
  if (estimate->degeneracy.has_value() && estimate->degeneracy->degenerate()) {
    return {v1::ALIGNMENT_STATUS_DEGENERATE, Unobserved(*estimate->degeneracy), true};
  }
  return {v1::ALIGNMENT_STATUS_OK, "", true};
}

}  // namespace

Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate, const Profile& profile,
                    const AlignOptions& options) {
  if (result.termination == Termination::kDeadline) {
    return {v1::ALIGNMENT_STATUS_DEADLINE, "the deadline passed while the scan was aligned", false};
  }
  if (result.after.matched_points == 0) {
    return {v1::ALIGNMENT_STATUS_OUT_OF_MAP, "no point has a map cell near it", false};
  }
  switch (JudgeInDetail(result, profile, options.gate.max_oscillations).acceptance) {
    case Acceptance::kNotConverged:
      return {v1::ALIGNMENT_STATUS_NOT_CONVERGED, NotConverged(result), false};
    case Acceptance::kLowScore:
      return {v1::ALIGNMENT_STATUS_LOW_SCORE, LowScore(result, profile), false};
    case Acceptance::kAccepted:
      break;
  }
  return Doubt(result, estimate, options);
}

double ReachOf(const PointCloud& scan_base) {
  double farthest = 0.0;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    farthest = std::max(farthest, scan_base.Point(i).squaredNorm());
  }
  return std::sqrt(farthest);
}

bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m, double margin_m) {
  if (map.finite_points == 0) return false;
  const Eigen::Array3d position = map_T_base.translation.array();
  const double slack = reach_m + margin_m;
  return (position >= map.min.array() - slack).all() && (position <= map.max.array() + slack).all();
}

double MatchMargin(const Profile& profile) {
  double largest = 0.0;
  for (const Stage& stage : profile.stages) largest = std::max(largest, stage.cells.cell_size_m);
  return 2.0 * largest;
}

}  // namespace voxloc::server
