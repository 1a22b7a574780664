// SPDX-License-Identifier: Apache-2.0
//
// How likely a pose is right: independent signals, combined into one number. Scores alone cannot
// tell: ground keeps them high when the vehicle is lost, and a place with few features keeps them
// low when it is not. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_

#include <array>
#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/quality/scan_shape.h"

namespace voxloc {

// Lengths of the Newton steps of a scan's clusters at a pose. Near the right optimum the steps
// agree; at a wrong one they point in different directions. The curvature is raised to the limit of
// observability where it is less.
struct ClusterPull {
  // Of all clusters together: what is left to the optimum.
  double step_m = 0.0;
  double step_rad = 0.0;
  // sqrt(sum of squares) of the clusters' own steps: the expected distance of the optimum if the
  // clusters were independent of each other.
  double spread_m = 0.0;
  double spread_rad = 0.0;
};

// `degeneracy` is that of the same sums. Curvatures count by their absolute value, so that every
// step increases the score. All are 0 if there is no curvature at all.
[[nodiscard]] ClusterPull MeasurePull(absl::Span<const GroupSums> clusters,
                                      const Degeneracy& degeneracy);

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

// What an alignment evaluated at a pose, for the signals there.
struct QualityRequest {
  const AlignJob* job = nullptr;
  const AlignResult* result = nullptr;  // run with with_point_scores; its status is ok
  const ScanShape* shape = nullptr;     // of the job's scan
  // Of the scan's points, under the cells of the answer's stage.
  const std::vector<float>* answer_scores = nullptr;
  // Of the points of the free space, under the cells of the score stage.
  const std::vector<float>* free_space_scores = nullptr;
};

// All but innovation and pull, which are left as they are. FailedPrecondition: there are not
// as many scores as points.
[[nodiscard]] absl::StatusOr<QualitySignals> MeasureQuality(const QualityRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_CONFIDENCE_H_
