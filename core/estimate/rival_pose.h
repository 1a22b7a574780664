// SPDX-License-Identifier: Apache-2.0
//
// Whether a scan has a second, distinct explanation near its result: what the alignments of
// MULTI_NDT report in addition to a covariance. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
#define VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/covariance_estimator.h"

namespace voxloc {

// An alignment that ends within this of where it started has found no optimum of its own: the scan
// does not observe the direction between.
constexpr double kMinRivalTravelM = 0.25;

// A confidence below it says that a result is rather wrong than right.
constexpr double kDoubtedConfidence = 0.5;

struct RivalPose {
  Pose map_T_base;
  double nvtl = 0.0;
};

// The alignment of the report that ended farther from the result than a separation of
// HypothesisOptions, with an NVTL that its gap calls ambiguous, at an optimum of its own; of
// several, the one of the highest NVTL. nullopt: there is none, as in the report of another method.
[[nodiscard]] std::optional<RivalPose> FindRival(const AlignResult& result,
                                                 const CovarianceReport& report);

// Aligns each scan from the offsets of MULTI_NDT around its result, all as one batch, and finds the
// rival of each. Where an alignment was cut short there is none.
[[nodiscard]] std::vector<std::optional<RivalPose>> LookForRivals(
    Engine& engine, absl::Span<const AlignedScan> scans);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
