// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/classification.h"

#include <algorithm>
#include <cmath>

namespace voxloc::bench {
namespace {

double CountRight(absl::Span<const Judged> judged) {
  return static_cast<double>(
      std::count_if(judged.begin(), judged.end(), [](const Judged& one) { return one.right; }));
}

}  // namespace

double AreaUnderCurve(std::vector<Judged> judged) {
  std::sort(judged.begin(), judged.end(),
            [](const Judged& a, const Judged& b) { return a.value < b.value; });
  double area = 0.0;
  double right = 0.0;
  double wrong = 0.0;
  for (size_t begin = 0; begin < judged.size();) {
    double equal_right = 0.0;
    double equal_wrong = 0.0;
    size_t end = begin;
    for (; end < judged.size() && judged[end].value == judged[begin].value; ++end) {
      (judged[end].right ? equal_right : equal_wrong) += 1.0;
    }
    area += equal_right * (wrong + 0.5 * equal_wrong);
    right += equal_right;
    wrong += equal_wrong;
    begin = end;
  }
  return right > 0.0 && wrong > 0.0 ? area / (right * wrong) : NAN;
}

std::vector<ReliabilityBin> ReliabilityOf(absl::Span<const Judged> judged, size_t bins) {
  const double right = CountRight(judged);
  const double wrong = static_cast<double>(judged.size()) - right;
  std::vector<ReliabilityBin> reliability(bins);
  for (const Judged& one : judged) {
    const auto place = static_cast<size_t>(one.value * static_cast<double>(bins));
    ReliabilityBin& bin = reliability[std::min(place, bins - 1)];
    const double weight = 0.5 / (one.right ? right : wrong);
    ++bin.count;
    bin.weight += weight;
    bin.value += weight * one.value;
    if (one.right) bin.right += weight;
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

GateCost GateCostOf(absl::Span<const Judged> judged, double limit) {
  double refused = 0.0;
  double accepted = 0.0;
  for (const Judged& one : judged) {
    if (one.right && one.value < limit) refused += 1.0;
    if (!one.right && one.value >= limit) accepted += 1.0;
  }
  const double right = CountRight(judged);
  return {refused / right, accepted / (static_cast<double>(judged.size()) - right)};
}

}  // namespace voxloc::bench
