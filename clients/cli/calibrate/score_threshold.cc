// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/score_threshold.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace voxloc::cli {
namespace {

// The largest threshold that is below the score. The quotient may be a step off by rounding.
double ThresholdBelow(double score) {
  double steps = std::ceil(score * kThresholdsPerUnit) + 1.0;
  while (steps / kThresholdsPerUnit >= score) --steps;
  return steps / kThresholdsPerUnit;
}

// Guards a product that is a whole number but for its rounding.
constexpr double kRoundingSlack = 1e-9;

}  // namespace

double ThresholdAtOrOver(double score) {
  double steps = std::floor(score * kThresholdsPerUnit) - 1.0;
  while (steps / kThresholdsPerUnit < score) ++steps;
  return steps / kThresholdsPerUnit;
}

ThresholdRates RatesAt(double threshold, const std::vector<ScoredAnswer>& right,
                       const std::vector<ScoredAnswer>& wrong) {
  ThresholdRates rates;
  rates.threshold = threshold;
  const auto count = [threshold](const std::vector<ScoredAnswer>& answers, size_t* over,
                                 size_t* accepted) {
    for (const ScoredAnswer& answer : answers) {
      if (!(answer.score > threshold)) continue;
      ++*over;
      if (answer.accepted_otherwise) ++*accepted;
    }
  };
  count(right, &rates.right_over, &rates.right_accepted);
  count(wrong, &rates.wrong_over, &rates.wrong_accepted);
  return rates;
}

double LargestThresholdKeeping(double keep, const std::vector<double>& ascending_scores) {
  const auto count = static_cast<double>(ascending_scores.size());
  const double kept = std::clamp(std::ceil(keep * count - kRoundingSlack), 1.0, count);
  return ThresholdBelow(ascending_scores[ascending_scores.size() - static_cast<size_t>(kept)]);
}

std::optional<double> LeastThresholdRefusing(double let, const std::vector<ScoredAnswer>& answers) {
  std::vector<double> scores;
  for (const ScoredAnswer& answer : answers) {
    if (answer.accepted_otherwise) scores.push_back(answer.score);
  }
  const auto passing =
      static_cast<size_t>(std::floor(let * static_cast<double>(answers.size()) + kRoundingSlack));
  if (scores.size() <= passing) return std::nullopt;
  const auto refused = scores.begin() + static_cast<std::ptrdiff_t>(passing);
  std::nth_element(scores.begin(), refused, scores.end(), std::greater<>());
  return ThresholdAtOrOver(*refused);
}

ShareInterval WilsonInterval(size_t count, size_t total) {
  if (total == 0) return {};
  constexpr double kZ = 1.959963984540054;  // the 97.5 % quantile of the normal distribution
  const auto n = static_cast<double>(total);
  const double share = static_cast<double>(count) / n;
  const double scale = 1.0 / (1.0 + kZ * kZ / n);
  const double centre = scale * (share + kZ * kZ / (2.0 * n));
  const double half = scale * kZ * std::sqrt(share * (1.0 - share) / n + kZ * kZ / (4.0 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace voxloc::cli
