// SPDX-License-Identifier: Apache-2.0
//
// How likely a pose is right: independent signals, combined into one number. Scores alone cannot
// tell: ground keeps them high when the vehicle is lost, and a place with few features keeps them
// low when it is not.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_

#include <cstddef>

namespace voxloc {

struct QualitySignals {
  double matched_ratio = 0.0;  // share of points that the map explains
  size_t matched_points = 0;
  double nvtl = 0.0;
  // Median residual of the matched points over the median that the map's cells predict; near 1
  // when right.
  double residual_ratio = 0.0;
  double sector_coverage = 0.0;     // share of the sectors around the vehicle with matched points
  double seen_through_ratio = 0.0;  // share of the free space along the rays that the map fills
  double innovation = 0.0;          // Mahalanobis distance of guess and result; 0: none known
  double condition = 1.0;           // Degeneracy::condition
};

// In [0, 1], higher is better.
[[nodiscard]] double ConfidenceOf(const QualitySignals& signals);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
