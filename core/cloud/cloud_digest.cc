// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/cloud_digest.h"

#include <array>
#include <cmath>

#include "absl/strings/string_view.h"

namespace voxloc {
namespace {

// Points that are hashed at a time: 12 KiB, which stay in the first level of the cache.
constexpr size_t kBlockPoints = 1024;

template <typename T, size_t N>
absl::string_view BytesOf(const std::array<T, N>& values, size_t count) {
  return {reinterpret_cast<const char*>(values.data()), count * sizeof(T)};
}

}  // namespace

CloudDigest::CloudDigest(const Eigen::Vector3d& origin) : origin_(origin) {
  const std::array<double, 3> values = {origin.x(), origin.y(), origin.z()};
  hash_.Update(BytesOf(values, values.size()));
}

void CloudDigest::Update(const PointCloud& chunk, size_t first, size_t count) {
  std::array<float, 3 * kBlockPoints> block;
  size_t filled = 0;
  const bool moved = chunk.origin != origin_;
  const Eigen::Vector3d shift = chunk.origin - origin_;
  for (size_t i = first; i < first + count; ++i) {
    if (!chunk.IsFinite(i)) continue;
    Eigen::Vector3f offset = chunk.Offset(i);
    if (moved) offset = (shift + offset.cast<double>()).cast<float>();
    block[filled++] = offset.x();
    block[filled++] = offset.y();
    block[filled++] = offset.z();
    ++points_;
    if (filled == block.size()) {
      hash_.Update(BytesOf(block, filled));
      filled = 0;
    }
  }
  hash_.Update(BytesOf(block, filled));
}

Sha256Digest DigestOf(const PointCloud& cloud) {
  CloudDigest digest(cloud.origin);
  digest.Update(cloud);
  return digest.Finish();
}

}  // namespace voxloc
