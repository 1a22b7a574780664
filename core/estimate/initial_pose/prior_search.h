// SPDX-License-Identifier: Apache-2.0
//
// A vehicle's pose from a prior: particles drawn from it and aligned, the later ones where a
// tree-structured Parzen estimator expects good scores, as Autoware's ndt_align_srv has it; but in
// batches (parzen_estimator.h says by which rule), and with the same answer for the same seed.
//
// A particle's trial is the pose that it ended at, with its transform probability; the answer is
// ranked by NVTL. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/covariance.h"

namespace voxloc {

constexpr size_t kMaxGuidedBatch = 256;

struct PriorSearchOptions {
  Pose map_T_base;                       // the prior's mean; its yaw is not used
  Matrix6 covariance = Matrix6::Zero();  // positive definite; only its diagonal is used
  size_t particles = 200;                // 1 to max_particles
  // Particles drawn from the prior before the estimator guides the search; 1 to particles. Equal to
  // `particles`: all are drawn from the prior.
  size_t startup_trials = 100;
  // Particles of the guided phase that are proposed, and aligned, at a time: 1 to kMaxGuidedBatch.
  // 1 is Autoware's rule. Up to 20 found vehicles as often in `voxloc_bench initial-pose`, 50 less
  // often: the estimator then learns from too few rounds.
  size_t guided_batch = 20;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidatePriorSearch(const PriorSearchOptions& options,
                                               size_t max_particles);

// All start-up particles are one call of the engine, and each guided batch is one; the observer,
// which may be empty, is called after each. A deadline that passes is no error: what has been found
// by then is the answer, which may be nothing. InvalidArgument: the options, or what the engine
// says of the job, as is FailedPrecondition. Cancelled.
[[nodiscard]] absl::StatusOr<PoseSearchResult> SearchAroundPrior(
    Engine& engine, const PoseSearchJob& job, const PriorSearchOptions& options,
    const PoseSearchObserver& observer);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
