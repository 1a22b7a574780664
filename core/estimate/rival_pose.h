// SPDX-License-Identifier: Apache-2.0
//
// Whether a scan has a second, distinct explanation near its result: what the alignments of
// MULTI_NDT report in addition to a covariance. A pure function.

#ifndef VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
#define VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_

#include <cstddef>
#include <optional>

#include "core/engine/align.h"
#include "core/estimate/covariance/covariance_estimator.h"

namespace voxloc {

// An alignment that ends within this of where it started has found no optimum of its own: the scan
// does not observe the direction between.
constexpr double kMinRivalTravelM = 0.25;

// The alignment of the report that ended farther from the result than a separation of
// HypothesisOptions, with an NVTL that its gap calls ambiguous, at an optimum of its own; of
// several, the one of the highest NVTL. nullopt: there is none, as in the report of another method.
[[nodiscard]] std::optional<size_t> FindRival(const AlignResult& result,
                                              const CovarianceReport& report);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_RIVAL_POSE_H_
