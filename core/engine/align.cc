// SPDX-License-Identifier: Apache-2.0

#include "core/engine/align.h"

namespace voxloc {
namespace {

// A search that hit its limit is still believed when it went to and fro around an optimum for more
// steps than this.
constexpr int kOscillationRescue = 10;

}  // namespace

absl::string_view ToString(Termination termination) {
  switch (termination) {
    case Termination::kConverged:
      return "converged";
    case Termination::kMaxIterations:
      return "max iterations";
    case Termination::kZeroStep:
      return "zero step";
    case Termination::kNotFinite:
      return "not finite";
    case Termination::kCancelled:
      return "cancelled";
    case Termination::kDeadline:
      return "deadline";
  }
  return "unknown";
}

Acceptance Judge(const AlignResult& result, const Profile& profile) {
  const bool finished = result.termination == Termination::kConverged ||
                        result.termination == Termination::kZeroStep ||
                        result.termination == Termination::kMaxIterations;
  const bool limited = result.reached_iteration_limit && result.oscillations <= kOscillationRescue;
  if (!finished || limited) return Acceptance::kNotConverged;
  const double score = profile.acceptance_score == ScoreKind::kTransformProbability
                           ? result.after.transform_probability
                           : result.after.nearest_voxel_likelihood;
  return score > profile.acceptance_threshold ? Acceptance::kAccepted : Acceptance::kLowScore;
}

}  // namespace voxloc
