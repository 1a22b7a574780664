// SPDX-License-Identifier: Apache-2.0
//
// Building files byte by byte, and clouds to compare with.

#ifndef VOXLOC_TESTS_CORE_CLOUD_IO_CLOUD_BYTES_H_
#define VOXLOC_TESTS_CORE_CLOUD_IO_CLOUD_BYTES_H_

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"

namespace voxloc {

// The bytes of the values one after another, each in its own type.
template <typename... T>
std::string Bytes(T... values) {
  std::string out;
  const auto append = [&out](auto value) {
    char buffer[sizeof(value)];
    std::memcpy(buffer, &value, sizeof(value));
    out.append(buffer, sizeof(value));
  };
  (append(values), ...);
  return out;
}

inline PointCloud RandomCloud(size_t count, uint64_t seed, bool intensity) {
  std::mt19937_64 random(seed);
  const auto uniform = [&random] {
    return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 * 200.0 - 100.0);
  };
  PointCloud cloud;
  for (size_t i = 0; i < count; ++i) {
    const float x = uniform();
    const float y = uniform();
    cloud.PushBack(x, y, uniform() * 0.1F);
    if (intensity) cloud.intensity.push_back(uniform());
  }
  return cloud;
}

// Whether two clouds hold the same bits, so that NaN equals itself.
inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline bool SameBits(const PointCloud& a, const PointCloud& b) {
  return a.origin == b.origin && SameBits(a.x, b.x) && SameBits(a.y, b.y) && SameBits(a.z, b.z) &&
         SameBits(a.intensity, b.intensity);
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_CLOUD_IO_CLOUD_BYTES_H_
