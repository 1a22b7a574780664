// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/growth.h"

#include <algorithm>

namespace voxloc::chaos {
namespace {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                   values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  return 0.5 * (upper + *std::max_element(values.begin(),
                                          values.begin() + static_cast<std::ptrdiff_t>(half)));
}

double MedianValue(const std::vector<TimedValue>& samples, size_t first, size_t count) {
  std::vector<double> values;
  for (size_t i = first; i < first + count; ++i) values.push_back(samples[i].value);
  return MedianOf(std::move(values));
}

}  // namespace

double TheilSenSlope(const std::vector<TimedValue>& samples) {
  std::vector<double> slopes;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t k = i + 1; k < samples.size(); ++k) {
      const double time_s = samples[k].time_s - samples[i].time_s;
      if (time_s > 0.0) slopes.push_back((samples[k].value - samples[i].value) / time_s);
    }
  }
  return MedianOf(std::move(slopes));
}

cli::Json Growth::ToJson() const {
  return {{"first", first},       {"last", last},       {"per_hour", per_hour},
          {"over_run", over_run}, {"allowed", allowed}, {"grows", grows}};
}

Growth JudgeGrowth(const std::vector<TimedValue>& samples, double warm_up_s, double allowed_share,
                   double allowed_at_least) {
  std::vector<TimedValue> warm;
  for (const TimedValue& sample : samples) {
    if (sample.time_s >= warm_up_s) warm.push_back(sample);
  }
  Growth growth;
  if (warm.empty()) return growth;
  const size_t quarter = std::max<size_t>(1, warm.size() / 4);
  growth.first = MedianValue(warm, 0, quarter);
  growth.last = MedianValue(warm, warm.size() - quarter, quarter);
  const double slope = TheilSenSlope(warm);
  growth.per_hour = 3600.0 * slope;
  growth.over_run = slope * (warm.back().time_s - warm.front().time_s);
  growth.allowed = std::max(allowed_at_least, allowed_share * MedianValue(warm, 0, warm.size()));
  growth.grows = growth.over_run > growth.allowed;
  return growth;
}

}  // namespace voxloc::chaos
