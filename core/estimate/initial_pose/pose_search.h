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

#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/estimate/initial_pose/hypotheses.h"

namespace voxloc {

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
