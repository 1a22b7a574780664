// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace voxloc {

Summary Summarize(std::vector<double> samples) {
  Summary summary;
  summary.count = samples.size();
  if (samples.empty()) return summary;
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const auto percentile = [&](double percent) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100.0 * count));
    return samples[std::max<size_t>(rank, 1) - 1];
  };
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  summary.p50 = percentile(50.0);
  summary.p95 = percentile(95.0);
  summary.p99 = percentile(99.0);
  summary.max = samples.back();
  return summary;
}

}  // namespace voxloc
