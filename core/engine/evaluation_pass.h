// SPDX-License-Identifier: Apache-2.0
//
// Evaluation passes: additional evaluations at the final pose of an alignment, in the same call:
// sums over groups of points, with derivatives, and scores of single points. The estimates
// (covariance, confidence) are computed from them.

#ifndef VOXLOC_CORE_ENGINE_EVALUATION_PASS_H_
#define VOXLOC_CORE_ENGINE_EVALUATION_PASS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/ndt/point_terms.h"
#include "core/ndt/pose_score.h"

namespace voxloc {

constexpr size_t kMaxPasses = 4;        // of a job
constexpr size_t kMaxPointGroups = 64;  // of a pass

// Groups of a cloud's points, each of which is summed on its own. A point may be in none.
struct PointGroups {
  std::vector<uint32_t> places;  // of finite points in the cloud, group after group
  std::vector<uint32_t> ends;    // where each group ends in `places`, ascending
};

struct EvaluationPass {
  std::shared_ptr<const PointCloud> cloud;    // base frame; null: the job's scan
  std::shared_ptr<const PointGroups> groups;  // of that cloud; null: no sums
  // Under the cells of the profile's score stage. Otherwise of the stage whose search ended at the
  // pose; of the last stage where nothing was searched.
  bool score_stage = false;
  // Only the cell that a point lies in counts, whatever the stage's search says.
  bool own_cell_only = false;
  // Of the points in groups where `groups` is set, of none where it is empty; else of all.
  bool with_point_scores = false;
};

// At the pose, with every point of the group: also where the stage searches with fewer.
struct GroupSums {
  PoseSums score;
  // Of the score, exact, about fixed map axes through the base's origin, order x y z rx ry rz, per
  // metre and radian; with the boundary of the search's reach (ndt::ReachBoundary) in the Hessian.
  // `old_pitch` means nothing here.
  ndt::DerivativeSums<double> derivatives;
};

struct PassResult {
  std::vector<GroupSums> groups;
  // Best pair of each point of the cloud, 0 where unmatched or left out; empty unless wanted.
  std::vector<float> point_scores;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_EVALUATION_PASS_H_
