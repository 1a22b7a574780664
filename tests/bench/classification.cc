// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/classification.h"

#include <algorithm>
#include <cmath>

namespace voxloc::bench {
namespace {

double CountRight(absl::Span<const LabeledScore> scores) {
  return static_cast<double>(std::count_if(scores.begin(), scores.end(),
                                           [](const LabeledScore& score) { return score.right; }));
}

}  // namespace

double AreaUnderCurve(std::vector<LabeledScore> scores) {
  std::sort(scores.begin(), scores.end(),
            [](const LabeledScore& a, const LabeledScore& b) { return a.value < b.value; });
  double area = 0.0;
  double right = 0.0;
  double wrong = 0.0;
  for (size_t begin = 0; begin < scores.size();) {
    double equal_right = 0.0;
    double equal_wrong = 0.0;
    size_t end = begin;
    for (; end < scores.size() && scores[end].value == scores[begin].value; ++end) {
      (scores[end].right ? equal_right : equal_wrong) += 1.0;
    }
    area += equal_right * (wrong + 0.5 * equal_wrong);
    right += equal_right;
    wrong += equal_wrong;
    begin = end;
  }
  return right > 0.0 && wrong > 0.0 ? area / (right * wrong) : NAN;
}

std::vector<ReliabilityBin> ReliabilityOf(absl::Span<const LabeledScore> scores, size_t bins) {
  const double right = CountRight(scores);
  const double wrong = static_cast<double>(scores.size()) - right;
  std::vector<ReliabilityBin> reliability(bins);
  for (const LabeledScore& score : scores) {
    const auto place = static_cast<size_t>(score.value * static_cast<double>(bins));
    ReliabilityBin& bin = reliability[std::min(place, bins - 1)];
    const double weight = 0.5 / (score.right ? right : wrong);
    ++bin.count;
    bin.weight += weight;
    bin.value += weight * score.value;
    if (score.right) bin.right += weight;
  }
  for (ReliabilityBin& bin : reliability) {
    if (bin.count == 0) continue;
    bin.value /= bin.weight;
    bin.right /= bin.weight;
  }
  return reliability;
}

double CalibrationError(absl::Span<const ReliabilityBin> bins) {
  double error = 0.0;
  for (const ReliabilityBin& bin : bins) error += bin.weight * std::abs(bin.value - bin.right);
  return error;
}

GateCost GateCostOf(absl::Span<const LabeledScore> scores, double limit) {
  double refused = 0.0;
  double accepted = 0.0;
  for (const LabeledScore& score : scores) {
    if (score.right && score.value < limit) refused += 1.0;
    if (!score.right && score.value >= limit) accepted += 1.0;
  }
  const double right = CountRight(scores);
  return {refused / right, accepted / (static_cast<double>(scores.size()) - right)};
}

}  // namespace voxloc::bench
