// SPDX-License-Identifier: Apache-2.0
//
// Searches for an initial pose on the wire. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_SEARCH_H_
#define VOXLOC_SERVER_CONVERT_SEARCH_H_

#include <cstddef>
#include <variant>

#include "absl/status/statusor.h"
#include "core/estimate/global_search/global_search.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/estimate/initial_pose/prior_search.h"
#include "core/estimate/scan_estimate.h"
#include "server/convert/options.h"
#include "server/maps/resident_maps.h"
#include "voxloc/v1/initial_pose.pb.h"

namespace voxloc::server {

// Around a prior, or anywhere in a region, which may be the whole map.
using SearchScope = std::variant<PriorSearchOptions, PoseRegion>;

// FailedPrecondition: a region by latitude and longitude, and the map's frame is not known.
[[nodiscard]] absl::StatusOr<SearchScope> SearchScopeFromProto(
    const v1::EstimateInitialPoseRequest& request, size_t max_particles, const MapView& map);

[[nodiscard]] absl::StatusOr<HypothesisOptions> HypothesisOptionsFromProto(
    const v1::SearchOptions& search);

// All but `best`; particles where these are wanted.
void SearchProgressToProto(const PoseSearchProgress& progress, bool with_particles,
                           v1::SearchProgress& proto);

// Pose, scores and verdict.
void HypothesisToProto(const AlignResult& result, v1::AlignmentStatus status,
                       v1::PoseHypothesis& proto);

// Covariance, and the confidence unless `output` leaves it out.
void EstimateToProto(const ScanEstimate& estimate, const v1::OutputOptions& output,
                     v1::PoseHypothesis& proto);

// All but the hypotheses, and what the search does not know.
void SearchResultToProto(const PoseSearchResult& result, v1::SearchResult& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SEARCH_H_
