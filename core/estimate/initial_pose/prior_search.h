// SPDX-License-Identifier: Apache-2.0
//
// PriorSearch: a vehicle's pose from a prior: particles drawn from it and aligned, the later ones
// where a tree-structured Parzen estimator expects good scores, as Autoware's ndt_align_srv has it;
// but in batches, and with the same answer for the same seed.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/covariance.h"

namespace voxloc {

struct PriorSearchOptions {
  Pose map_T_base;                       // the prior's mean; its yaw is not used
  Matrix6 covariance = Matrix6::Zero();  // positive definite; only its diagonal is used
  size_t particles = 200;                // 1 to max_particles
  // Particles drawn from the prior before the search follows what it has learnt. As many as
  // `particles`: it never does. 1 to particles.
  size_t startup_trials = 100;
  // Particles of the guided phase that are proposed, and aligned, at a time. >= 1.
  size_t guided_batch = 20;
};

[[nodiscard]] absl::Status ValidatePriorSearch(const PriorSearchOptions& options,
                                               size_t max_particles);

// InvalidArgument, FailedPrecondition: what the engine says of the job. Cancelled.
[[nodiscard]] absl::StatusOr<PoseSearchResult> SearchAroundPrior(
    Engine& engine, const PoseSearchJob& job, const PriorSearchOptions& options,
    const PoseSearchObserver& observer);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
