// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/packed_scan.h"

#include <cmath>

#include "cuda/align/virtual_warps.h"

namespace voxloc::cuda {

namespace {

size_t StrideOf(size_t points) {
  return (points + kPointsPerChunk - 1) / kPointsPerChunk * kPointsPerChunk;
}

}  // namespace

size_t PackedFloats(size_t cloud_points) { return 3 * StrideOf(cloud_points); }

PackedScan PackScan(const PointCloud& cloud, float* floats) {
  const size_t n = cloud.size();
  PackedScan packed;
  packed.stride = static_cast<uint32_t>(StrideOf(n));
  float* const x = floats;
  float* const y = x + packed.stride;
  float* const z = y + packed.stride;
  const Eigen::Vector3f origin = cloud.origin.cast<float>();
  uint32_t not_finite = 0;
  for (size_t i = 0; i < n; ++i) {
    x[i] = cloud.x[i] + origin.x();
    y[i] = cloud.y[i] + origin.y();
    z[i] = cloud.z[i] + origin.z();
    // Zero times a number that is not finite is none.
    not_finite += x[i] * 0.0F + y[i] * 0.0F + z[i] * 0.0F == 0.0F ? 0U : 1U;
  }
  packed.points = static_cast<uint32_t>(n);
  if (not_finite == 0) return packed;
  packed.points = 0;
  packed.sources.reserve(n - not_finite);
  for (uint32_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || !std::isfinite(z[i])) continue;
    const uint32_t to = packed.points++;
    x[to] = x[i];
    y[to] = y[i];
    z[to] = z[i];
    packed.sources.push_back(i);
  }
  return packed;
}

PackedScan PackScan(const PointCloud& cloud, absl::Span<const uint32_t> places, float* floats) {
  PackedScan packed;
  packed.points = static_cast<uint32_t>(places.size());
  packed.stride = static_cast<uint32_t>(StrideOf(cloud.size()));
  float* const x = floats;
  float* const y = x + packed.stride;
  float* const z = y + packed.stride;
  const Eigen::Vector3f origin = cloud.origin.cast<float>();
  for (size_t i = 0; i < places.size(); ++i) {
    const uint32_t place = places[i];
    x[i] = cloud.x[place] + origin.x();
    y[i] = cloud.y[place] + origin.y();
    z[i] = cloud.z[place] + origin.z();
  }
  packed.sources.assign(places.begin(), places.end());
  return packed;
}

}  // namespace voxloc::cuda
