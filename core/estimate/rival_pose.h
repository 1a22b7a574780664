// SPDX-License-Identifier: Apache-2.0
//
// Rival poses: whether a second, distinct pose near the result explains the scan nearly as well.
// The alignments of MULTI_NDT show it. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
#define VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/covariance_estimator.h"

namespace voxloc {

// An alignment that ends within this distance of its start has not reached a distinct optimum: the
// scan does not observe that direction.
constexpr double kMinRivalTravelM = 0.25;

// Below this confidence, a result is more likely wrong than right.
constexpr double kDoubtfulConfidence = 0.5;

struct RivalPose {
  Pose map_T_base;
  double nvtl = 0.0;
};

// The alignment of the report with the highest NVTL that (1) is farther from the result than a
// separation of HypothesisOptions, (2) has an NVTL within HypothesisOptions::ambiguity_gap, and (3)
// ended at a distinct optimum. nullopt: there is none, as in reports of other methods.
[[nodiscard]] std::optional<RivalPose> FindRival(const AlignResult& result,
                                                 const CovarianceReport& report);

// Aligns each scan from the offsets of MULTI_NDT around its result, all as one batch, and finds the
// rival of each. nullopt if an alignment was interrupted.
[[nodiscard]] std::vector<std::optional<RivalPose>> SearchRivals(
    Engine& engine, absl::Span<const AlignedScan> scans);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
