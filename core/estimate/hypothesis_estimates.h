// SPDX-License-Identifier: Apache-2.0
//
// Estimates (covariance, confidence) of the hypotheses of a search, and their ranking by
// confidence. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_
#define VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_

#include <Eigen/Core>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/scan_estimate.h"

namespace voxloc {

// One estimate per hypothesis, in their order. The job's deadline is that of the search and
// ignored.
// Errors: Cancelled.
[[nodiscard]] absl::StatusOr<std::vector<ScanEstimate>> EstimateHypotheses(
    Engine& engine, const PoseSearchJob& job, const EstimateOptions& options, const ScanRays& rays,
    const std::vector<PoseHypothesis>& hypotheses);

// Sorts the hypotheses and their estimates by descending confidence, those without one last. The
// sort is stable: equals stay ordered by NVTL. If the first hypothesis changes, NVTL and confidence
// contradict each other, and the ranking is ambiguous. The gap is still that of the NVTL.
void RankByConfidence(RankedHypotheses& ranked, std::vector<ScanEstimate>& estimates);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_HYPOTHESIS_ESTIMATES_H_
