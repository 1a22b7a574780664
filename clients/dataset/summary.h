// SPDX-License-Identifier: Apache-2.0
//
// Mean, percentiles and maximum of a list of numbers.

#ifndef VOXLOC_CLIENTS_DATASET_SUMMARY_H_
#define VOXLOC_CLIENTS_DATASET_SUMMARY_H_

#include <cstddef>
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

[[nodiscard]] Summary Summarize(std::vector<double> values);

// The value of rank ceil(percent / 100 * n), counted from 1, of values in ascending order; NaN of
// none.
[[nodiscard]] double NearestRank(const std::vector<double>& ascending, double percent);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SUMMARY_H_
