// SPDX-License-Identifier: Apache-2.0
//
// The poses of the scans of one pass, refined together. Where a map has changed, alignments may
// agree with each other and all be wrong: they follow a wall that moved. How the vehicle moved from
// scan to scan, by the scans alone, does not know the wall's old place. Pure.

#ifndef VOXLOC_CORE_MAP_UPDATE_JOINT_POSES_H_
#define VOXLOC_CORE_MAP_UPDATE_JOINT_POSES_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Least squares over the poses: of their differences from `aligned` (map_T_base by alignment with
// the map, of scans in the order of the pass), weighed by the function of Geman and McClure, and
// of their motions from `motions` (from_T_to, of each scan to the next; nullopt: not known), which
// are trusted. The weights harden step by step, so that the start does not decide (Yang, Antonante,
// Tzoumas and Carlone, "Graduated Non-Convexity for Robust Spatial Perception", 2020).
[[nodiscard]] std::vector<Pose> RefineTogether(absl::Span<const Pose> aligned,
                                               absl::Span<const std::optional<Pose>> motions);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_JOINT_POSES_H_
