// SPDX-License-Identifier: Apache-2.0
//
// How well a scan fits at one pose, under one set of cells.

#ifndef VOXLOC_CORE_NDT_POSE_SCORE_H_
#define VOXLOC_CORE_NDT_POSE_SCORE_H_

#include <cstddef>

#include "core/ndt/host_device.h"

namespace voxloc {

struct PoseScore {
  double score = 0.0;                     // sum over all pairs
  double transform_probability = 0.0;     // score / points; "TP"
  double nearest_voxel_likelihood = 0.0;  // mean over matched points of their best pair; "NVTL"
  size_t points = 0;
  size_t matched_points = 0;  // points with at least one cell
  size_t pairs = 0;
  [[nodiscard]] VOXLOC_HD double matched_ratio() const {
    return points == 0 ? 0.0 : static_cast<double>(matched_points) / static_cast<double>(points);
  }
};

// From the sums over a scan. `exponentials` is the sum of all pairs' e, `best` that of each point's
// largest; `largest` is the score of a perfect pair, -d1.
VOXLOC_HD PoseScore ComputePoseScore(double largest, double exponentials, double best,
                                     size_t points, size_t matched_points, size_t pairs) {
  PoseScore score;
  score.score = largest * exponentials;
  score.points = points;
  score.matched_points = matched_points;
  score.pairs = pairs;
  if (points > 0) score.transform_probability = score.score / static_cast<double>(points);
  if (matched_points > 0) {
    score.nearest_voxel_likelihood = largest * best / static_cast<double>(matched_points);
  }
  return score;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_POSE_SCORE_H_
