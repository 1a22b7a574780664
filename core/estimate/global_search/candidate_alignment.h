// SPDX-License-Identifier: Apache-2.0
//
// From the leaves of a search to hypotheses: candidates are aligned in batches, with a thinned scan
// where the scan is large, and the best of them once more with all of it.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_CANDIDATE_ALIGNMENT_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_CANDIDATE_ALIGNMENT_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/engine.h"
#include "core/estimate/global_search/global_search.h"
#include "core/estimate/initial_pose/pose_search.h"

namespace voxloc {

// Whether a pose lies in the region, and half a voxel and a step of heading around it.
[[nodiscard]] bool IsInRegion(const PoseRegion& region, double slack_m, double slack_rad,
                              const Pose& map_T_base);

// Aligns the starts, in their order, as long as the deadline allows, and fills in the result's
// hypotheses and counts. `accepts` says which poses may be answered. Cancelled; what the engine
// says.
[[nodiscard]] absl::Status AlignCandidates(Engine& engine, const PoseSearchJob& job,
                                           const std::vector<Pose>& starts,
                                           const std::function<bool(const Pose&)>& accepts,
                                           const PoseSearchObserver& observer,
                                           PoseSearchResult& result);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_CANDIDATE_ALIGNMENT_H_
