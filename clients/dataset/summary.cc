// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace voxloc {

double NearestRank(const std::vector<double>& ascending, double percent) {
  if (ascending.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(ascending.size());
  // The product is exact enough that only an exact multiple needs guarding against its rounding.
  const double rank = std::ceil(percent * count / 100.0 - 1e-9);
  return ascending[static_cast<size_t>(std::clamp(rank, 1.0, count)) - 1];
}

Summary Summarize(std::vector<double> values) {
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
