// SPDX-License-Identifier: Apache-2.0
//
// Whether a scan at a pose can overlap a map, from the scan's farthest point and the map's bounds
// alone. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ENGINE_SCAN_REACH_H_
#define VOXLOC_CORE_ENGINE_SCAN_REACH_H_

#include "core/cloud/point_cloud.h"
#include "core/engine/profile.h"
#include "core/geometry/pose.h"

namespace voxloc {

// The distance of the scan's farthest point from the base, metres; 0 for an empty scan.
[[nodiscard]] double MaxPointDistance(const PointCloud& scan_base);

// Whether a scan of this reach at this pose can come within `margin_m` of the map's bounds on every
// axis. False: no point of the scan can have a map cell near it, provided that no cell is larger
// than the margin.
[[nodiscard]] bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m,
                            double margin_m);

// The distance from the bounds of a map, metres, within which a stage of the profile still matches
// points with cells.
[[nodiscard]] double MatchMargin(const Profile& profile);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_SCAN_REACH_H_
