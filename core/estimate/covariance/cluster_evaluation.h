// SPDX-License-Identifier: Apache-2.0
//
// The evaluation of a scan's clusters at a pose, and what it says in scaled axes, in which
// rotations are lengths. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_EVALUATION_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_EVALUATION_H_

#include <memory>

#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/estimate/covariance/sandwich.h"

namespace voxloc {

// A job that evaluates these clusters of the job's scan at a pose, under the cells of one stage, in
// its only pass. Without the stop token of the job.
[[nodiscard]] AlignJob ClusterJob(const AlignJob& job, const Stage& stage,
                                  std::shared_ptr<const PointGroups> clusters,
                                  const Pose& map_T_base);

// Derivatives by the coordinates u of fixed map axes = scale * u.
[[nodiscard]] ScoreTerms ScaledTerms(const GroupSums& cluster, const Vector6& scale);

[[nodiscard]] Vector6 ScaledGradient(absl::Span<const GroupSums> clusters, const Vector6& scale);

[[nodiscard]] double MatchedPoints(absl::Span<const GroupSums> clusters);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_CLUSTER_EVALUATION_H_
