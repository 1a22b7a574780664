// SPDX-License-Identifier: Apache-2.0
//
// The figures that describe a set of samples: mean, and percentiles by nearest rank (the smallest
// sample that at least p per cent of all samples do not exceed).

#ifndef VOXLOC_CLIENTS_DATASET_SUMMARY_H_
#define VOXLOC_CLIENTS_DATASET_SUMMARY_H_

#include <cstddef>
#include <vector>

namespace voxloc {

struct Summary {
  size_t count = 0;
  double mean = 0.0;
  double p50 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

// All zero where there is no sample.
[[nodiscard]] Summary Summarize(std::vector<double> samples);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_SUMMARY_H_
