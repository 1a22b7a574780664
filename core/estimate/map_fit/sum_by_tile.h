// SPDX-License-Identifier: Apache-2.0
//
// What one scan showed, tile by tile. A pure function.

#ifndef VOXLOC_CORE_ESTIMATE_MAP_FIT_SUM_BY_TILE_H_
#define VOXLOC_CORE_ESTIMATE_MAP_FIT_SUM_BY_TILE_H_

#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/estimate/map_fit/scan_fit.h"
#include "core/estimate/map_fit/tile_fit.h"

namespace voxloc {

// Of each of these tiles, given by their bounds that hold points, map frame: what lies within the
// bounds of several counts for each; what lies in none, for the nearest within `margin_m`. Those
// that the scan showed nothing of have no scans.
[[nodiscard]] std::vector<TileFit> SumByTile(absl::Span<const FitObservation> observations,
                                             absl::Span<const Bounds> tiles, double margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_SUM_BY_TILE_H_
