// SPDX-License-Identifier: Apache-2.0
//
// Compares an engine's float32 evaluation with the brute-force one in double: the score to 1e-5,
// every derivative to 1e-5 of the sum of its pairs' magnitudes, counts exactly.

#ifndef VOXLOC_TESTS_SUPPORT_EVALUATION_COMPARISON_H_
#define VOXLOC_TESTS_SUPPORT_EVALUATION_COMPARISON_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "core/engine/align.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {

// The largest deviations seen, each as a share of what it is measured against.
struct Deviations {
  double score = 0.0;
  double gradient = 0.0;
  double hessian = 0.0;
};

inline std::ostream& operator<<(std::ostream& out, const Deviations& d) {
  return out << "score " << d.score << ", gradient " << d.gradient << ", Hessian " << d.hessian;
}

// Whether float32 has the same pairs as double. Only pairs within rounding of the search radius may
// differ; then the values are not comparable.
[[nodiscard]] inline bool ExpectSamePairs(const PoseScore& score,
                                          const reference::Evaluation& expected) {
  EXPECT_EQ(score.points, expected.points);
  const auto undecided = static_cast<double>(expected.undecided_pairs);
  EXPECT_NEAR(static_cast<double>(score.pairs), static_cast<double>(expected.pairs), undecided);
  EXPECT_NEAR(static_cast<double>(score.matched_points),
              static_cast<double>(expected.matched_points), undecided);
  return score.pairs == expected.pairs && score.matched_points == expected.matched_points;
}

inline void ExpectScoresAgree(const PoseScore& score, const reference::Evaluation& expected,
                              double tolerance, Deviations& largest) {
  if (!ExpectSamePairs(score, expected)) return;
  const double error = std::abs(score.score - expected.score) / expected.score;
  largest.score = std::max(largest.score, error);
  EXPECT_LE(error, tolerance);
  EXPECT_NEAR(score.transform_probability, expected.TransformProbability(),
              tolerance * expected.TransformProbability());
  EXPECT_NEAR(score.nearest_voxel_likelihood, expected.NearestVoxelLikelihood(),
              tolerance * expected.NearestVoxelLikelihood());
}

inline void ExpectEvaluationsAgree(const PoseScore& score, const ChartVector& gradient,
                                   const Matrix6& hessian, const reference::Evaluation& expected,
                                   double tolerance, Deviations& largest) {
  ExpectScoresAgree(score, expected, tolerance, largest);
  if (!ExpectSamePairs(score, expected)) return;
  for (int i = 0; i < 6; ++i) {
    const double g = std::abs(gradient[i] - expected.gradient[i]) / expected.gradient_magnitude[i];
    largest.gradient = std::max(largest.gradient, g);
    EXPECT_LE(g, tolerance) << "gradient " << i;
    for (int j = 0; j < 6; ++j) {
      const double h =
          std::abs(hessian(i, j) - expected.hessian(i, j)) / expected.hessian_magnitude(i, j);
      largest.hessian = std::max(largest.hessian, h);
      EXPECT_LE(h, tolerance) << "Hessian " << i << " " << j;
    }
  }
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_EVALUATION_COMPARISON_H_
