// SPDX-License-Identifier: Apache-2.0
//
// How well a value tells right from wrong, and whether it is the probability that it says it is.
// Pure functions.

#ifndef VOXLOC_TESTS_BENCH_CLASSIFICATION_H_
#define VOXLOC_TESTS_BENCH_CLASSIFICATION_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace voxloc::bench {

struct Judged {
  double value = 0.0;
  bool right = false;
};

// Share of pairs of a right and a wrong one of which the right one has the higher value, equal
// values counting half: the area under the ROC curve. NaN where either is missing.
[[nodiscard]] double AreaUnderCurve(std::vector<Judged> judged);

struct ReliabilityBin {
  size_t count = 0;
  double weight = 0.0;  // share of all; right and wrong ones hold one half each
  double value = 0.0;   // weighted mean
  double right = 0.0;   // weighted share
};

// Values of [0, 1] by bins of equal width, weighted so that one half is right.
[[nodiscard]] std::vector<ReliabilityBin> ReliabilityOf(absl::Span<const Judged> judged,
                                                        size_t bins);

// Mean distance between value and share of right ones over the bins, by their weights (Naeini and
// others 2015: the expected calibration error).
[[nodiscard]] double CalibrationError(absl::Span<const ReliabilityBin> bins);

// Shares of right ones below a limit, and of wrong ones not below it.
struct GateCost {
  double refused_right = 0.0;
  double accepted_wrong = 0.0;
};
[[nodiscard]] GateCost GateCostOf(absl::Span<const Judged> judged, double limit);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CLASSIFICATION_H_
