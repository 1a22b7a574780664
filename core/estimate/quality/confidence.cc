// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <algorithm>
#include <cmath>

#include "core/geometry/angles.h"

namespace voxloc {
namespace {

// Logistic models of the terms, fitted by tests/bench/fit_confidence.py to what `voxloc_bench
// quality --dump` writes of all data sets of the choosing list, with 24 to 30 scans each and both
// profiles; right and wrong poses weigh the same. docs/accuracy.md has the commands, and the
// results on the judging list.
struct Model {
  double bias;
  std::array<double, kConfidenceTerms> coefficients;  // in the order of ConfidenceTerms
};
// Of answers under cells smaller than kFineCellsM, whose residuals see a few centimetres.
constexpr double kFineCellsM = 1.0;
constexpr Model kFine = {-3.619, {4.580, 6.798, -9.730, -3.391, -1.553}};
constexpr Model kCoarse = {-6.122, {3.881, 7.056, -6.859, -4.906, -1.342}};

// Not fitted: a result so many standard deviations from its guess is doubted, one logit for every
// two more. A true guess is nearer in 99 of 100 cases.
constexpr double kInnovation = -0.5;
constexpr double kUsualInnovation = 4.1;

// Priors that the ratios of few raised points or rays are shrunk to.
constexpr double kUsualRaisedRatio = 0.9;
constexpr double kRaisedPrior = 10.0;  // points
constexpr double kRayPrior = 5.0;

// Newton steps count by the limits of a right pose.
constexpr double kRightM = 0.15;
constexpr double kRightRad = 0.5 * kRadiansPerDegree;

// From 0, of no step, to 1; one half for a step as long as a right pose may be wrong.
double Saturate(double step_m, double step_rad) {
  const double step = std::hypot(step_m / kRightM, step_rad / kRightRad);
  return std::isfinite(step) ? step / (1.0 + step) : 1.0;
}

}  // namespace

std::array<ConfidenceTerm, kConfidenceTerms> ConfidenceTerms(const QualitySignals& signals) {
  const auto raised = static_cast<double>(signals.raised_points);
  const auto rays = static_cast<double>(signals.rays);
  const ClusterPull& pull = signals.pull;
  return {{
      {"raised", (raised * signals.raised_ratio + kRaisedPrior * kUsualRaisedRatio) /
                     (raised + kRaisedPrior)},
      {"sharp", signals.sharp_ratio},
      {"seen_through", signals.seen_through_ratio * rays / (rays + kRayPrior)},
      {"step", Saturate(pull.step_m, pull.step_rad)},
      {"spread", Saturate(pull.spread_m, pull.spread_rad)},
  }};
}

double ConfidenceOf(const QualitySignals& signals) {
  if (signals.matched_points == 0) return 0.0;
  const Model& model = signals.answer_cell_size_m < kFineCellsM ? kFine : kCoarse;
  const auto terms = ConfidenceTerms(signals);
  double logit = model.bias + kInnovation * std::max(0.0, signals.innovation - kUsualInnovation);
  for (size_t i = 0; i < kConfidenceTerms; ++i) logit += model.coefficients[i] * terms[i].value;
  return 1.0 / (1.0 + std::exp(-logit));
}

}  // namespace voxloc
