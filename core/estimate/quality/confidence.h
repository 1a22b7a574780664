// SPDX-License-Identifier: Apache-2.0
//
// How likely a pose is right: independent signals, combined into one number. Scores alone cannot
// tell: ground keeps them high when the vehicle is lost, and a place with few features keeps them
// low when it is not.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_

#include <cstddef>

namespace voxloc {

// A point is explained where its best cell gives it at least half of the largest score: it then
// lies within a standard deviation or two of what the map has there.
struct QualitySignals {
  double matched_ratio = 0.0;  // share of points with a cell near them
  size_t matched_points = 0;
  double nvtl = 0.0;
  double mean_fit = 0.0;  // mean score of a point's best cell, as a share of the largest
  // Median squared residual of the matched points, in standard deviations of the cells of the last
  // stage, over what a normal distribution predicts; near 1 when right.
  double residual_ratio = 0.0;
  double sharp_ratio = 0.0;  // share of points explained under the last stage
  // Points that stand clear of the ground, as the scan alone shows, and how many are explained.
  size_t raised_points = 0;
  double raised_ratio = 0.0;
  // Shares of the sectors around the vehicle that have explained points, and, of those that have
  // points at all, that are mostly explained.
  double sector_coverage = 0.0;
  double sector_agreement = 0.0;
  size_t rays = 0;                  // whose free space was looked at
  double seen_through_ratio = 0.0;  // share of these that pass through something in the map
  double innovation = 0.0;          // Mahalanobis distance of guess and result; 0: none known
  double condition = 1.0;           // Degeneracy::condition
};

// In [0, 1], higher is better.
[[nodiscard]] double ConfidenceOf(const QualitySignals& signals);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
