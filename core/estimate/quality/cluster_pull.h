// SPDX-License-Identifier: Apache-2.0
//
// The Newton steps of a scan's clusters at a pose, from the alignment's pass. Near the right
// optimum they agree; at a wrong one they point in different directions. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_

#include "absl/types/span.h"
#include "core/engine/evaluation_pass.h"
#include "core/estimate/covariance/degeneracy.h"

namespace voxloc {

// Lengths of Newton steps. The curvature is raised to the limit of observability where it is less.
struct ClusterPull {
  // Of all clusters together: what is left to the optimum.
  double step_m = 0.0;
  double step_rad = 0.0;
  // sqrt(sum of squares) of the clusters' own steps: the expected distance of the optimum if the
  // clusters were independent of each other.
  double spread_m = 0.0;
  double spread_rad = 0.0;
};

// `degeneracy` is that of the same sums. Curvatures count by their absolute value, so that every
// step increases the score. All are 0 if there is no curvature at all.
[[nodiscard]] ClusterPull MeasurePull(absl::Span<const GroupSums> clusters,
                                      const Degeneracy& degeneracy);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_
