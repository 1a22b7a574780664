// SPDX-License-Identifier: Apache-2.0
//
// Mean, percentiles and maximum of a list of numbers.

#ifndef VOXLOC_CLIENTS_DATASET_SUMMARY_H_
#define VOXLOC_CLIENTS_DATASET_SUMMARY_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace voxloc {

// Percentiles are by nearest rank: p50 is the smallest value that at least half of the values do
// not exceed, so it is always one of them. Every number is NaN when there are no values.
struct Summary {
  size_t count = 0;
  double mean = 0.0;
  double p50 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

// The value of rank ceil(percent / 100 * n), counted from 1, of values in ascending order; NaN of
// none.
[[nodiscard]] inline double NearestRank(const std::vector<double>& ascending, double percent) {
  if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(ascending.size());
  // The product is exact enough that only an exact multiple needs guarding against its rounding.
  const double rank = std::ceil(percent * count / 100.0 - 1e-9);
  return ascending[static_cast<size_t>(std::clamp(rank, 1.0, count)) - 1];
}

[[nodiscard]] inline Summary Summarize(std::vector<double> values) {
  Summary result;
  result.count = values.size();
  std::sort(values.begin(), values.end());
  result.mean = values.empty() ? std::numeric_limits<double>::quiet_NaN()
                               : std::accumulate(values.begin(), values.end(), 0.0) /
                                     static_cast<double>(values.size());
  result.p50 = NearestRank(values, 50.0);
  result.p95 = NearestRank(values, 95.0);
  result.p99 = NearestRank(values, 99.0);
  result.max = NearestRank(values, 100.0);
  return result;
}

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SUMMARY_H_
