// SPDX-License-Identifier: Apache-2.0
//
// The common interface of the searches for an initial pose: job, progress and result. Plain values.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_POSE_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_POSE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/align.h"

namespace voxloc {

// Merges many aligned candidates into a few distinct, ranked hypotheses, and says whether the best
// one is ambiguous. Pure functions. The order of the candidates matters only for equal scores: the
// first is then the better one.
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

// A scan that is to be found in a map.
struct PoseSearchJob {
  std::shared_ptr<const ResidentMap> map;
  std::shared_ptr<const PointCloud> scan;  // base frame; finite points
  Profile profile;                         // candidates are aligned with it
  // Cancelled: the search ends with Cancelled. Deadline: it ends with the best so far.
  StopToken stop;
  uint64_t seed = 0;
  HypothesisOptions hypotheses;
  // The NVTL that the best must exceed to be reliable, whichever score decides acceptance. nullopt:
  // the profile's threshold where that is one of NVTL, or else Autoware's 2.3.
  std::optional<double> reliable_likelihood;
};

// The alignment of the scan with its profile; its guess is not set.
[[nodiscard]] AlignJob AlignmentOf(const PoseSearchJob& job);

enum class PoseSearchPhase { kPreparing, kSearching, kAligning, kRanking };

// One aligned candidate.
struct SearchParticle {
  size_t index = 0;  // in the order of proposal
  Pose start_map_T_base;
  AlignResult result;
};

struct PoseSearchProgress {
  PoseSearchPhase phase = PoseSearchPhase::kPreparing;
  double fraction = 0.0;  // of the work, 0 to 1; never falls
  uint64_t candidates_scored = 0;
  size_t candidates_aligned = 0;
  const AlignResult* best = nullptr;           // so far, by NVTL; null: none
  absl::Span<const SearchParticle> particles;  // aligned since the last call
};
// Called in the thread of the search, between its calls of the engine.
using PoseSearchObserver = std::function<void(const PoseSearchProgress&)>;

struct PoseSearchResult {
  RankedHypotheses ranked;
  bool reliable = false;   // as IsReliable says of the best
  bool timed_out = false;  // the deadline cut it short
  uint64_t candidates_scored = 0;
  size_t candidates_aligned = 0;
  size_t largest_batch = 0;  // jobs in one call of the engine
};

// Autoware's `reliable`: there is a hypothesis, and its NVTL is over the threshold for it.
[[nodiscard]] bool IsReliable(const RankedHypotheses& ranked, const PoseSearchJob& job);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_POSE_SEARCH_H_
