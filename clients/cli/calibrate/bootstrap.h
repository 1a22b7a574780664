// SPDX-License-Identifier: Apache-2.0
//
// Intervals of estimates from samples that depend on their neighbours: the block bootstrap (Kuensch
// 1989). Pure functions; the same samples give the same interval.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_BOOTSTRAP_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_BOOTSTRAP_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace voxloc::cli {

// An estimate, and what 90 of 100 such drives would give.
struct Estimated {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// The intervals of what `estimate` says of samples 0 to count - 1, which it is given the places of:
// in 200 repetitions whole runs of neighbours, of a twentieth of the samples, are drawn with
// repetition. `count` is over 0, and the estimate always has the same number of values.
[[nodiscard]] std::vector<Estimated> WithIntervals(
    size_t count,
    const std::function<std::vector<double>(const std::vector<size_t>& places)>& estimate);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_BOOTSTRAP_H_
