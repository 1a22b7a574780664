// SPDX-License-Identifier: Apache-2.0
//
// Where the clusters of a scan draw a pose to, from what an alignment evaluated there: beside an
// optimum all of them draw the same way, and at a wrong one they draw in different ways. Pure
// functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_

#include "absl/types/span.h"
#include "core/engine/evaluation_pass.h"
#include "core/estimate/covariance/degeneracy.h"

namespace voxloc {

// Lengths of Newton steps. Where the score hardly bends, a step is as long as if it bent as much as
// the limit of what is observed asks for.
struct ClusterPull {
  // Of all clusters together: what is left to the optimum.
  double step_m = 0.0;
  double step_rad = 0.0;
  // Roots of the sums of squares of each cluster's own share of it: how far the optimum would lie
  // away if the clusters drew independently of each other.
  double spread_m = 0.0;
  double spread_rad = 0.0;
};

// `degeneracy` is of the same sums. Where the score bends the wrong way, a step leads up the score
// nevertheless. All are 0 where the score does not bend at all.
[[nodiscard]] ClusterPull MeasurePull(absl::Span<const GroupSums> clusters,
                                      const Degeneracy& degeneracy);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CLUSTER_PULL_H_
