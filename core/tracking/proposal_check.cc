// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/proposal_check.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

// Why the client's own result is a rival of the proposal; empty: it is none.
std::string RivalOf(const AlignResult& result, const AlignResult& own,
                    const HypothesisOptions& options) {
  const double distance_m = TranslationDistance(own.map_T_base, result.map_T_base);
  const bool distinct =
      distance_m >= options.min_separation_m ||
      RotationDistance(own.map_T_base, result.map_T_base) >= options.min_separation_rad;
  if (!own.status.ok() || own.after.matched_points == 0 || !distinct) return "";
  const double nvtl = result.after.nearest_voxel_likelihood;
  const double own_nvtl = own.after.nearest_voxel_likelihood;
  if (nvtl - own_nvtl >= options.ambiguity_gap * nvtl) return "";
  return absl::StrCat("the guess leads to a pose ", distance_m, " m away, whose nvtl is ", own_nvtl,
                      "; that of the expected pose is ", nvtl);
}

}  // namespace

std::string RejectReason(const AlignResult& result, std::optional<double> confidence,
                         const Profile& profile, const RecoveryOptions& options) {
  const Judgement judgement = JudgeInDetail(result, profile);
  if (judgement.acceptance == Acceptance::kNotConverged) {
    return absl::StrCat("the alignment did not converge: ", ToString(result.termination));
  }
  if (judgement.acceptance == Acceptance::kLowScore) {
    return absl::StrCat("the alignment's score is ", judgement.score, "; it must be over ",
                        profile.acceptance_threshold);
  }
  if (result.after.matched_ratio() < options.min_matched_ratio) {
    return absl::StrCat("the alignment's matched ratio is ", result.after.matched_ratio(),
                        "; it must be at least ", options.min_matched_ratio);
  }
  if (confidence && *confidence < options.min_confidence) {
    return absl::StrCat("the alignment's confidence is ", *confidence, "; it must be at least ",
                        options.min_confidence);
  }
  return "";
}

ProposalCheck CheckProposal(Engine& engine, const AlignJob& job, const Pose& expected_map_T_base,
                            const AlignResult* own, const RecoveryOptions& options,
                            const ConfidenceFunction& confidence) {
  AlignJob expected = WithGuess(job, expected_map_T_base);
  expected.work_class = WorkClass::kSearching;
  expected.with_trace = false;
  ProposalCheck check;
  check.result = std::move(engine.Align({&expected, 1}).front());
  const AlignResult& result = check.result;
  if (!result.status.ok()) {
    check.detail = result.status.ToString();
    return check;
  }
  if (!options.same.Matches(result.map_T_base, expected_map_T_base)) {
    check.detail = absl::StrCat("the alignment ends ",
                                TranslationDistance(result.map_T_base, expected_map_T_base),
                                " m and ", RotationDistance(result.map_T_base, expected_map_T_base),
                                " rad from the expected pose; allowed are ",
                                options.same.distance_m, " m and ", options.same.angle_rad, " rad");
    return check;
  }
  check.detail = RejectReason(result, std::nullopt, job.profile, options);
  if (check.agrees() && own != nullptr) check.detail = RivalOf(result, *own, options.hypotheses);
  if (check.agrees() && confidence) {
    check.confidence = confidence({&expected, &result});
    check.detail = RejectReason(result, check.confidence, job.profile, options);
  }
  return check;
}

}  // namespace voxloc
