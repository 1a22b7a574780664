// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/cloud/filters.h"

namespace voxloc {
namespace {

// Uniform in [0, bound). The standard's distributions differ between libraries; its generators do
// not.
uint64_t UniformBelow(uint64_t bound, std::mt19937_64& generator) {
  // Draws from the last, incomplete run of `bound` values would favour small results.
  const uint64_t excess = (std::numeric_limits<uint64_t>::max() % bound + 1) % bound;
  const uint64_t last_fair = std::numeric_limits<uint64_t>::max() - excess;
  uint64_t draw = generator();
  while (draw > last_fair) draw = generator();
  return draw % bound;
}

}  // namespace

PointCloud RandomSample(const PointCloud& cloud, size_t max_points, uint64_t seed) {
  const size_t count = cloud.size();
  if (max_points == 0 || max_points >= count) return cloud;

  // Floyd's choice: every subset of max_points is equally likely, for one draw a point chosen.
  std::mt19937_64 generator(seed);
  std::vector<bool> chosen(count, false);
  for (size_t last = count - max_points; last < count; ++last) {
    const size_t pick = static_cast<size_t>(UniformBelow(last + 1, generator));
    chosen[chosen[pick] ? last : pick] = true;
  }

  PointCloud sample;
  sample.origin = cloud.origin;
  sample.Reserve(max_points);
  if (cloud.has_intensity()) sample.intensity.reserve(max_points);
  for (size_t i = 0; i < count; ++i) {
    if (!chosen[i]) continue;
    sample.PushBack(cloud.x[i], cloud.y[i], cloud.z[i]);
    if (cloud.has_intensity()) sample.intensity.push_back(cloud.intensity[i]);
  }
  return sample;
}

}  // namespace voxloc
