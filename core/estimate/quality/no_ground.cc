// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/no_ground.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

PointCloud PointsAbove(const PointCloud& scan_base, const Eigen::Matrix3d& map_R_base,
                       double z_margin_m) {
  const Eigen::RowVector3d up = map_R_base.row(2);
  PointCloud kept;
  kept.origin = scan_base.origin;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i) || !(up.dot(scan_base.Point(i)) > z_margin_m)) continue;
    kept.PushBack(scan_base.x[i], scan_base.y[i], scan_base.z[i]);
    if (scan_base.has_intensity()) kept.intensity.push_back(scan_base.intensity[i]);
  }
  return kept;
}

}  // namespace

absl::StatusOr<NoGroundScores> ScoreWithoutGround(Engine& engine, const AlignJob& job,
                                                  const Pose& map_T_base, double z_margin_m) {
  if (!std::isfinite(z_margin_m)) {
    return absl::InvalidArgumentError(
        absl::StrCat("z_margin_m must be finite (got ", z_margin_m, ")"));
  }
  VOXLOC_TRY(ValidateProfile(job.profile));
  ScoreRequest request;
  request.map = job.map;
  request.scan = job.scan;
  request.map_T_base = {map_T_base};
  request.stage = job.profile.stages[job.profile.score_stage];
  request.work_class = job.work_class;
  request.stop = job.stop;
  VOXLOC_TRY(CheckRequest(request));

  NoGroundScores scores;
  scores.points_base = std::make_shared<const PointCloud>(
      PointsAbove(*job.scan, map_T_base.rotation.toRotationMatrix(), z_margin_m));
  if (scores.points_base->empty()) return scores;
  request.scan = scores.points_base;
  VOXLOC_ASSIGN_OR_RETURN(ScoreResult result, engine.Score(request));
  scores.score = result.poses[0];
  return scores;
}

}  // namespace voxloc
