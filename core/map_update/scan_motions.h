// SPDX-License-Identifier: Apache-2.0
//
// How a vehicle moved from scan to scan, by the scans alone.

#ifndef VOXLOC_CORE_MAP_UPDATE_SCAN_MOTIONS_H_
#define VOXLOC_CORE_MAP_UPDATE_SCAN_MOTIONS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct ScanInPass {
  std::shared_ptr<const PointCloud> points_base;
  Pose map_T_base;  // about, to half a metre
};

// The points that tell height, roll and pitch: those above the ground, or all. Rings on the ground
// tell them better, with errors that are alike from scan to scan.
enum class TiltPoints { kAboveGround, kAll };

// from_T_to of each scan to the next, of scans in the order of the pass: what each of the two sees
// above the ground is aligned with a map of the other, and for height, roll and pitch what
// `tilt_points` says. nullopt: they are too far apart, or do not fit each other; and of the last
// one. ResourceExhausted: memory runs out.
[[nodiscard]] absl::StatusOr<std::vector<std::optional<Pose>>> MeasureMotions(
    Engine& engine, const Profile& profile, absl::Span<const ScanInPass> scans,
    TiltPoints tilt_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_SCAN_MOTIONS_H_
