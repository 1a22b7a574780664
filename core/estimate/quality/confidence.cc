// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// A logistic model, fitted to right and wrong poses of both profiles in four simulated towns (two
// ordinary ones, one of few houses, one of dense traffic), right and wrong counting the same:
// the table is what `voxloc_bench quality --dump` writes of them. Other towns and the real data
// sets are not in the fit; docs/accuracy.md has the commands.
constexpr double kBias = -17.18;
constexpr double kMatchedRatio = 7.43;
constexpr double kFit = 9.51;  // of the mean score of a matched point, as a share of the largest
constexpr double kRaisedRatio = 7.91;
constexpr double kLogResidualRatio = -0.41;
constexpr double kSectorAgreement = 2.23;
constexpr double kSeenThrough = -3.20;
constexpr double kLogCondition = -1.09;

// Not fitted: a result so many standard deviations from its guess is doubted, one logit for every
// two more. A true guess is nearer in 99 of 100 cases.
constexpr double kInnovation = -0.5;
constexpr double kUsualInnovation = 4.1;

// What few raised points or rays would show if there were more of them.
constexpr double kUsualRaisedRatio = 0.9;
constexpr double kRaisedPrior = 10.0;  // points
constexpr double kRayPrior = 5.0;

constexpr double kLargestCondition = 1e4;
constexpr double kLargestResidualRatio = 100.0;

}  // namespace

double ConfidenceOf(const QualitySignals& signals) {
  if (signals.matched_points == 0 || !(signals.matched_ratio > 0.0)) return 0.0;
  const auto raised = static_cast<double>(signals.raised_points);
  const auto rays = static_cast<double>(signals.rays);
  const double raised_ratio =
      (raised * signals.raised_ratio + kRaisedPrior * kUsualRaisedRatio) / (raised + kRaisedPrior);
  const double residual_ratio =
      std::clamp(signals.residual_ratio, 1.0 / kLargestResidualRatio, kLargestResidualRatio);
  const double condition = std::clamp(signals.condition, 1.0, kLargestCondition);
  const double logit = kBias + kMatchedRatio * signals.matched_ratio +
                       kFit * std::min(1.0, signals.mean_fit / signals.matched_ratio) +
                       kRaisedRatio * raised_ratio + kLogResidualRatio * std::log(residual_ratio) +
                       kSectorAgreement * signals.sector_agreement +
                       kSeenThrough * signals.seen_through_ratio * rays / (rays + kRayPrior) +
                       kLogCondition * std::log10(condition) +
                       kInnovation * std::max(0.0, signals.innovation - kUsualInnovation);
  return 1.0 / (1.0 + std::exp(-logit));
}

}  // namespace voxloc
