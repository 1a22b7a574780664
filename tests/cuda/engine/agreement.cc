// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/engine/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

// |value - expected| as a share of `magnitude`; nothing may come of nothing.
double Share(double value, double expected, double magnitude) {
  if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
  const double difference = std::abs(value - expected);
  return difference == 0.0 ? 0.0 : difference / std::abs(magnitude);
}

}  // namespace

Evaluated FromEngine(const PoseScore& score, const ChartVector& gradient, const Matrix6& hessian) {
  return {score.score, score.transform_probability, score.nearest_voxel_likelihood, gradient,
          hessian};
}

Evaluated FromReference(const reference::Evaluation& evaluation) {
  return {evaluation.score, evaluation.TransformProbability(), evaluation.NearestVoxelLikelihood(),
          evaluation.gradient, evaluation.hessian};
}

void Disagreement::Add(const std::string& where, const Evaluated& value, const Evaluated& expected,
                       const reference::Evaluation& magnitudes) {
  Note(Share(value.score, expected.score, expected.score), where, score_);
  Note(Share(value.transform_probability, expected.transform_probability,
             expected.transform_probability),
       where, transform_probability_);
  Note(Share(value.nearest_voxel_likelihood, expected.nearest_voxel_likelihood,
             expected.nearest_voxel_likelihood),
       where, nearest_voxel_likelihood_);
  for (int i = 0; i < 6; ++i) {
    Note(Share(value.gradient[i], expected.gradient[i], magnitudes.gradient_magnitude[i]),
         absl::StrCat(where, ", entry ", i), gradient_);
    for (int j = 0; j < 6; ++j) {
      Note(Share(value.hessian(i, j), expected.hessian(i, j), magnitudes.hessian_magnitude(i, j)),
           absl::StrCat(where, ", entry ", i, " ", j), hessian_);
    }
  }
}

void Disagreement::Note(double share, const std::string& where, Largest& largest) {
  if (share > largest.share) largest = {share, where};
}

void Disagreement::ExpectWithin(double tolerance) const {
  EXPECT_LE(score_.share, tolerance) << "score: " << score_.where;
  EXPECT_LE(transform_probability_.share, tolerance)
      << "transform probability: " << transform_probability_.where;
  EXPECT_LE(nearest_voxel_likelihood_.share, tolerance)
      << "nearest voxel likelihood: " << nearest_voxel_likelihood_.where;
  EXPECT_LE(gradient_.share, tolerance) << "gradient: " << gradient_.where;
  EXPECT_LE(hessian_.share, tolerance) << "Hessian: " << hessian_.where;
}

std::ostream& operator<<(std::ostream& out, const Disagreement& d) {
  return out << "score " << d.score_.share << ", TP " << d.transform_probability_.share << ", NVTL "
             << d.nearest_voxel_likelihood_.share << ", gradient " << d.gradient_.share
             << ", Hessian " << d.hessian_.share;
}

}  // namespace voxloc
