// SPDX-License-Identifier: Apache-2.0
//
// Estimates of the hypotheses that a search found: what an alignment has in addition to its pose,
// and their order by it. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_
#define VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_

#include <Eigen/Core>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/hypotheses.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/scan_estimate.h"

namespace voxloc {

// One estimate a hypothesis, in their order. The job's deadline is of the search and not looked at.
// Errors: Cancelled.
[[nodiscard]] absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options, const ScanRays& rays,
    const std::vector<PoseHypothesis>& hypotheses);

// Puts the hypotheses, and their estimates with them, in the order of their confidence, the highest
// first; of equals, and of those without one, which come last, the order by NVTL stays. Where
// another comes first than before, NVTL and confidence contradict each other: that is ambiguous
// too. The gap stays that of the NVTL.
void RankByConfidence(RankedHypotheses& ranked, std::vector<ScanEstimate>& estimates);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_
