// SPDX-License-Identifier: Apache-2.0
//
// The height of a prior that has none: poses from RViz, and from GNSS without an altitude, lie at
// z = 0 whatever the ground's height in the map is. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_HEIGHT_H_
#define VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_HEIGHT_H_

#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/estimate/initial_pose/prior_search.h"
#include "core/map/cells.h"
#include "core/map/resident_map.h"

namespace voxloc {

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

#endif  // VOXLOC_CORE_ESTIMATE_INITIAL_POSE_PRIOR_HEIGHT_H_
