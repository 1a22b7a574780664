// SPDX-License-Identifier: Apache-2.0

#include "server/maps/tile_content.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

// Floating-point values are stored as they lie in memory.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of a little-endian machine");

using Origin = std::array<double, 3>;
using Offset = std::array<float, 3>;

}  // namespace

std::string EncodeOrigin(const PointCloud& cloud) {
  const Origin origin = {cloud.origin.x(), cloud.origin.y(), cloud.origin.z()};
  std::string bytes(sizeof(Origin), '\0');
  std::memcpy(bytes.data(), origin.data(), sizeof(Origin));
  return bytes;
}

std::string EncodeOffsets(const PointCloud& cloud, size_t first) {
  std::string bytes((cloud.size() - first) * sizeof(Offset), '\0');
  for (size_t i = first; i < cloud.size(); ++i) {
    const Offset offset = {cloud.x[i], cloud.y[i], cloud.z[i]};
    std::memcpy(&bytes[(i - first) * sizeof(Offset)], offset.data(), sizeof(Offset));
  }
  return bytes;
}

absl::string_view TileContentReader::Decode(absl::string_view bytes) {
  if (!has_origin_ && bytes.size() >= sizeof(Origin)) {
    Origin origin;
    std::memcpy(origin.data(), bytes.data(), sizeof(Origin));
    cloud_.origin = {origin[0], origin[1], origin[2]};
    has_origin_ = true;
    bytes.remove_prefix(sizeof(Origin));
  }
  if (!has_origin_) return bytes;
  for (; bytes.size() >= sizeof(Offset); bytes.remove_prefix(sizeof(Offset))) {
    Offset offset;
    std::memcpy(offset.data(), bytes.data(), sizeof(Offset));
    cloud_.PushBack(offset[0], offset[1], offset[2]);
  }
  return bytes;
}

void TileContentReader::Append(absl::string_view piece) {
  // The pieces of a store begin within a point at most where it cut one.
  while (!rest_.empty() && !piece.empty()) {
    const size_t whole = has_origin_ ? sizeof(Offset) : sizeof(Origin);
    const absl::string_view more = piece.substr(0, whole - rest_.size());
    rest_.append(more.data(), more.size());
    piece.remove_prefix(more.size());
    if (rest_.size() == whole) {
      Decode(rest_);
      rest_.clear();
    }
  }
  const absl::string_view left = Decode(piece);
  rest_.append(left.data(), left.size());
}

absl::StatusOr<PointCloud> TileContentReader::Finish() {
  if (!has_origin_ || !rest_.empty()) {
    return absl::DataLossError(
        absl::StrCat("the content of a tile ends within ", has_origin_ ? "a point" : "its origin"));
  }
  return std::move(cloud_);
}

}  // namespace voxloc::server
