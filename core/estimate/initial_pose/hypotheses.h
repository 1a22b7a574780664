// SPDX-License-Identifier: Apache-2.0
//
// Merges many aligned candidates into a few distinct, ranked hypotheses, and tells whether the best
// one is ambiguous. Pure functions. The order of the candidates matters only for equal scores: the
// first is then the better one.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_HYPOTHESES_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_HYPOTHESES_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/align.h"

namespace voxloc {

struct HypothesisOptions {
  size_t max_hypotheses = 5;           // 1 to 100
  double min_separation_m = 1.0;       // nearer than this, and than the angle, poses are one; > 0
  double min_separation_rad = 0.1745;  // > 0
  double ambiguity_gap = 0.1;          // a gap below it is ambiguous; 0 to 1
};

[[nodiscard]] absl::Status ValidateHypothesisOptions(const HypothesisOptions& options);

struct PoseHypothesis {
  AlignResult result;  // of its best candidate
  size_t support = 0;  // candidates that ended here
};

struct RankedHypotheses {
  std::vector<PoseHypothesis> hypotheses;  // best NVTL first, unless ranked otherwise since
  // (best - second) / best of their NVTL, the second counting where only one is wanted too; 1 when
  // there is but one, 0 with none.
  double ambiguity_gap = 0.0;
  bool ambiguous = false;  // there are two, and the gap is below the option
};

// The best candidate, which is RankHypotheses' first; null: there is none.
[[nodiscard]] const AlignResult* BestCandidate(absl::Span<const AlignResult> candidates);

// In descending order, each candidate joins the first hypothesis that it is nearer to than both
// separations, or else starts a new one while there are fewer than max_hypotheses. Candidates whose
// status is not ok, that matched no point or have a component that is not finite are left out.
[[nodiscard]] RankedHypotheses RankHypotheses(absl::Span<const AlignResult> candidates,
                                              const HypothesisOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_HYPOTHESES_H_
