// SPDX-License-Identifier: Apache-2.0
//
// How well a value separates right from wrong, and its calibration as a probability. Pure
// functions.

#ifndef VOXLOC_TESTS_BENCH_CLASSIFICATION_H_
#define VOXLOC_TESTS_BENCH_CLASSIFICATION_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace voxloc::bench {

struct LabeledScore {
  double value = 0.0;
  bool right = false;
};

// Area under the ROC curve: P(value of a right one > value of a wrong one) + P(equal) / 2. NaN
// without right or without wrong ones.
[[nodiscard]] double AreaUnderCurve(std::vector<LabeledScore> scores);

struct ReliabilityBin {
  size_t count = 0;
  double weight = 0.0;  // of all bins 1; right and wrong ones have one half each
  double value = 0.0;   // weighted mean
  double right = 0.0;   // weighted share
};

// Values of [0, 1] by bins of equal width, weighted so that one half is right.
[[nodiscard]] std::vector<ReliabilityBin> ReliabilityOf(absl::Span<const LabeledScore> scores,
                                                        size_t bins);

// Mean distance between value and share of right ones over the bins, by their weights (Naeini and
// others 2015: the expected calibration error).
[[nodiscard]] double CalibrationError(absl::Span<const ReliabilityBin> bins);

// Shares of right ones below a limit, and of wrong ones not below it.
struct GateCost {
  double refused_right = 0.0;
  double accepted_wrong = 0.0;
};
[[nodiscard]] GateCost GateCostOf(absl::Span<const LabeledScore> scores, double limit);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CLASSIFICATION_H_
