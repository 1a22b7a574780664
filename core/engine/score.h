// SPDX-License-Identifier: Apache-2.0
//
// Scoring: how well does a scan fit at each of many poses? No search.

#ifndef VOXLOC_CORE_ENGINE_SCORE_H_
#define VOXLOC_CORE_ENGINE_SCORE_H_

#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/engine/profile.h"
#include "core/engine/work_class.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"

namespace voxloc {

struct ScoreRequest {
  std::shared_ptr<const ResidentMap> map;
  std::shared_ptr<const PointCloud> scan;  // base frame; finite points
  std::vector<Pose> map_T_base;            // M poses
  Stage stage;                             // cells, search and outlier ratio are used
  WorkClass work_class = WorkClass::kScoring;
  StopToken stop;
  bool with_point_scores = false;
};

struct ScoreResult {
  std::vector<PoseScore> poses;  // M
  // Best pair of each point, 0 where unmatched: M rows of N, row-major; empty unless wanted.
  std::vector<float> point_scores;
};

// An empty result with memory allocated for every pose, and for every point of every pose if the
// request has point scores.
[[nodiscard]] inline ScoreResult MakeScoreResult(const ScoreRequest& request) {
  ScoreResult result;
  result.poses.resize(request.map_T_base.size());
  if (request.with_point_scores) {
    result.point_scores.assign(result.poses.size() * request.scan->size(), 0.0F);
  }
  return result;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_SCORE_H_
