// SPDX-License-Identifier: Apache-2.0
//
// The score of a scan at one pose, under one set of cells.

#ifndef VOXLOC_CORE_NDT_POSE_SCORE_H_
#define VOXLOC_CORE_NDT_POSE_SCORE_H_

#include <cmath>
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
  // For the regularisation, which counts in the transform probability too.
  VOXLOC_HD void AddToScore(double added) {
    score += added;
    if (points > 0) transform_probability = score / static_cast<double>(points);
  }
  // Over the points, of each point's best pair.
  [[nodiscard]] VOXLOC_HD double BestSum() const {
    return nearest_voxel_likelihood * static_cast<double>(matched_points);
  }
  [[nodiscard]] VOXLOC_HD double matched_ratio() const {
    return points == 0 ? 0.0 : static_cast<double>(matched_points) / static_cast<double>(points);
  }
};

// The same sums before the divisions, for kernels. Counts are integers stored as doubles.
struct PoseSums {
  double score = 0.0;
  double best = 0.0;  // sum of each point's best pair
  double matched_points = 0.0;
  double pairs = 0.0;

  VOXLOC_HD void AddToScore(double added) { score += added; }
  [[nodiscard]] VOXLOC_HD double BestSum() const { return best; }
};

VOXLOC_HD PoseScore ToPoseScore(const PoseSums& sums, size_t points) {
  PoseScore score;
  score.score = sums.score;
  score.points = points;
  score.matched_points = static_cast<size_t>(sums.matched_points);
  score.pairs = static_cast<size_t>(sums.pairs);
  if (points > 0) score.transform_probability = sums.score / static_cast<double>(points);
  if (score.matched_points > 0) score.nearest_voxel_likelihood = sums.best / sums.matched_points;
  return score;
}

}  // namespace voxloc

namespace voxloc::ndt {

// The constants of the NDT score of one point under one cell: s = -d1 exp(-d2/2 q'Bq), the Gaussian
// that Magnusson 2009 (equations 6.8 to 6.10) fits to a mixture of a normal distribution and a
// uniform one of outliers. q is the point minus the cell's mean, B the inverse covariance.
struct ScoreConstants {
  double d1 = 0.0;  // negative; -d1 is the largest score of a pair
  double d2 = 0.0;  // positive
};

// `outlier_ratio` in (0, 1), `cell_size_m` positive.
inline ScoreConstants ComputeScoreConstants(double outlier_ratio, double cell_size_m) {
  const double c1 = 10.0 * (1.0 - outlier_ratio);
  const double c2 = outlier_ratio / (cell_size_m * cell_size_m * cell_size_m);
  const double d3 = -std::log(c2);
  ScoreConstants constants;
  constants.d1 = -std::log(c1 + c2) - d3;
  constants.d2 = -2.0 * std::log((-std::log(c1 * std::exp(-0.5) + c2) - d3) / constants.d1);
  return constants;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_POSE_SCORE_H_
