// SPDX-License-Identifier: Apache-2.0
//
// How likely a pose is right: independent signals, combined into one number. Scores alone cannot
// tell: ground keeps them high when the vehicle is lost, and a place with few features keeps them
// low when it is not. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "core/estimate/quality/cluster_pull.h"

namespace voxloc {

// A point is explained where its best cell gives it at least half of the largest score: it then
// lies within a standard deviation or two of what the map has there.
struct QualitySignals {
  size_t matched_points = 0;        // with a cell near them
  double answer_cell_size_m = 0.0;  // of the stage that gave the answer
  double sharp_ratio = 0.0;         // share of points that are explained under that stage
  // Under the score stage: points that stand clear of the ground, as the scan alone shows, and how
  // many of them are explained.
  size_t raised_points = 0;
  double raised_ratio = 0.0;
  size_t rays = 0;                  // whose free space was looked at
  double seen_through_ratio = 0.0;  // share of these that pass through something in the map
  ClusterPull pull;                 // under the score stage
  double innovation = 0.0;          // Mahalanobis distance of guess and result; 0: none known
};

// What the confidence is a logistic function of: the signals, bounded and made comparable.
struct ConfidenceTerm {
  absl::string_view name;
  double value;
};
constexpr size_t kConfidenceTerms = 5;
[[nodiscard]] std::array<ConfidenceTerm, kConfidenceTerms> ConfidenceTerms(
    const QualitySignals& signals);

// The probability that a pose with these signals is right, for poses of which one half is: within
// 0.15 m and 0.5 degrees along the directions that its scan observes. In [0, 1]; 0 without a
// matched point.
[[nodiscard]] double ConfidenceOf(const QualitySignals& signals);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
