// SPDX-License-Identifier: Apache-2.0
//
// What to think of an alignment: one status, in the order of precedence that AlignmentStatus has,
// and what to tell people. Pure functions.

#ifndef VOXLOC_SERVER_SCAN_VERDICT_H_
#define VOXLOC_SERVER_SCAN_VERDICT_H_

#include <string>

#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/pose.h"
#include "server/scan/scan_recipe.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

struct Verdict {
  v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_UNSPECIFIED;
  std::string detail;
  bool accepted = false;
};

// Of a result whose own status is ok, aligned with this profile. `estimate` is null where there is
// none.
[[nodiscard]] Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate,
                                  const Profile& profile, const AlignOptions& options);

// How far a scan reaches from the base, metres: the distance of its farthest point.
[[nodiscard]] double ReachOf(const PointCloud& scan_base);

// Whether a scan of this reach at this pose can come within `margin_m` of the map's bounds on every
// axis. False: no point of it can have a map cell near it, as long as no cell is larger than the
// margin.
[[nodiscard]] bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m,
                            double margin_m);

// How far from its place in the bounds of a map a cell is still matched with.
[[nodiscard]] double MatchMargin(const Profile& profile);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_VERDICT_H_
