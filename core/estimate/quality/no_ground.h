// SPDX-License-Identifier: Apache-2.0
//
// Scores over the points that stand clear of the ground, as Autoware's ndt_scan_matcher has them.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_NO_GROUND_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_NO_GROUND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"

namespace voxloc {

struct NoGroundScores {
  PoseScore score;                                // over those points only
  std::shared_ptr<const PointCloud> points_base;  // those points; may be empty
};

// The points of the scan that lie more than `z_margin_m` above the position of `map_T_base`, in the
// map frame, scored there under the profile's score stage. Without such a point all scores are 0.
[[nodiscard]] absl::StatusOr<NoGroundScores> ScoreWithoutGround(Engine& engine, const AlignJob& job,
                                                                const Pose& map_T_base,
                                                                double z_margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_NO_GROUND_H_
