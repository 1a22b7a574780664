// SPDX-License-Identifier: Apache-2.0
//
// The digest that names the points of a map's tile (TileInfo.sha256 in the contract): the SHA-256
// of the origin of the tile's first chunk, x, y, z as float64, and then of every finite point in
// order, its offset from that origin x, y, z as float32, all little-endian. It depends neither on
// intensity nor on how the points were split into chunks. Movable; for one thread.

#ifndef VOXLOC_CORE_CLOUD_CLOUD_DIGEST_H_
#define VOXLOC_CORE_CLOUD_CLOUD_DIGEST_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>

#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// Incremental, for points that come in chunks.
class CloudDigest {
 public:
  // `origin`: that of the first chunk, metres.
  explicit CloudDigest(const Eigen::Vector3d& origin);

  // Points [first, first + count) of `chunk`. Around another origin than the first chunk's, they
  // are expressed around that one, as Append (point_cloud.h) does.
  void Update(const PointCloud& chunk, size_t first, size_t count);
  void Update(const PointCloud& chunk) { Update(chunk, 0, chunk.size()); }

  // Finite points so far.
  [[nodiscard]] uint64_t points() const { return points_; }

  // Of everything so far; the last call.
  [[nodiscard]] Sha256Digest Finish() { return hash_.Finish(); }

 private:
  Eigen::Vector3d origin_;
  Sha256 hash_;
  uint64_t points_ = 0;
};

// Of a whole tile around its own origin.
[[nodiscard]] Sha256Digest DigestOf(const PointCloud& cloud);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_CLOUD_DIGEST_H_
