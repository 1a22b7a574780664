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
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/covariance.h"
#include "core/map/cells.h"

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

// The height of a prior that has none: poses from RViz, and from GNSS without an altitude, lie at
// z = 0 whatever the ground's height in the map is. Thread-safe: no shared state.
struct PriorHeight {
  double z_m = 0.0;      // of the base, map frame
  double sigma_m = 0.0;  // at least the prior's
};

// Where the base stands on the map's surface around the prior: the lowest level cells there, and
// over them the base as the scan's lowest points have it. nullopt: the prior's height fits a level
// cell, to 3 standard deviations and the reach of a search, or there is none around it.
[[nodiscard]] std::optional<PriorHeight> HeightOnSurface(absl::Span<const MapCell> cells,
                                                         double cell_size_m,
                                                         const PointCloud& scan_base,
                                                         const PriorSearchOptions& prior);

// The same of the map's cells of these statistics; `bounds`: the map's. Errors are those of the
// map.
[[nodiscard]] absl::StatusOr<std::optional<PriorHeight>> HeightOnSurface(
    const ResidentMap& map, size_t statistics_index, const Bounds& bounds,
    const PointCloud& scan_base, const PriorSearchOptions& prior);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_SEARCH_H_
