// SPDX-License-Identifier: Apache-2.0
//
// What the store keeps of a tile, and what TileInfo.sha256 is the digest of: the origin as three
// float64, then every point's offsets as three float32, little-endian. Points are finite, in the
// order in which they came. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_MAPS_TILE_CONTENT_H_
#define VOXLOC_SERVER_MAPS_TILE_CONTENT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::server {

[[nodiscard]] std::string EncodeOrigin(const PointCloud& cloud);
// Of the points from `first` on.
[[nodiscard]] std::string EncodeOffsets(const PointCloud& cloud, size_t first = 0);

// Decodes content that arrives in pieces of any size.
class TileContentReader {
 public:
  void Append(absl::string_view piece);
  // DataLoss: the content ends within its origin or a point.
  [[nodiscard]] absl::StatusOr<PointCloud> Finish();

 private:
  // Decodes as much of `bytes` as is complete; returns what is left.
  absl::string_view Decode(absl::string_view bytes);

  PointCloud cloud_;
  bool has_origin_ = false;
  std::string rest_;  // the beginning of something that is not complete
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_TILE_CONTENT_H_
