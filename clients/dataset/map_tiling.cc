// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_tiling.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace voxloc {
namespace {

constexpr double kMinTileSize_m = 1.0;
constexpr double kMaxTileSize_m = 1e6;
constexpr double kFurthestPoint_m = 1e9;

// Millimetres at most: "-20", "12.5".
std::string MetresText(double metres) {
  std::string text = absl::StrFormat("%.3f", metres);
  text.erase(text.find_last_not_of('0') + 1);
  return std::string(absl::StripSuffix(text, "."));
}

}  // namespace

absl::StatusOr<TileGrid> TileGrid::Create(double tile_size_m) {
  if (!(tile_size_m >= kMinTileSize_m && tile_size_m <= kMaxTileSize_m)) {
    return absl::InvalidArgumentError(absl::StrCat("the tile size must be from ", kMinTileSize_m,
                                                   " to ", kMaxTileSize_m, " m (got ", tile_size_m,
                                                   ")"));
  }
  return TileGrid(tile_size_m);
}

bool TileGrid::IndexOf(const Eigen::Vector3d& point, TileIndex* index) const {
  if (point.head<2>().cwiseAbs().maxCoeff() > kFurthestPoint_m) return false;
  *index = {static_cast<int64_t>(std::floor(point.x() / tile_size_m_)),
            static_cast<int64_t>(std::floor(point.y() / tile_size_m_))};
  return true;
}

Eigen::Vector3d TileGrid::OriginOf(const TileIndex& index, double origin_z_m) const {
  return {static_cast<double>(index.first) * tile_size_m_,
          static_cast<double>(index.second) * tile_size_m_, origin_z_m};
}

TileCloud TileGrid::EmptyTile(const TileIndex& index, double origin_z_m) const {
  TileCloud tile;
  tile.cloud.origin = OriginOf(index, origin_z_m);
  tile.bounds.min = tile.cloud.origin.head<2>();
  tile.bounds.max = tile.bounds.min.array() + tile_size_m_;
  tile.id =
      absl::StrCat("x", MetresText(tile.bounds.min.x()), "_y", MetresText(tile.bounds.min.y()));
  return tile;
}

absl::Status TooFarForTiles(uint64_t point_number, const Eigen::Vector3d& point) {
  return absl::InvalidArgumentError(absl::StrCat(
      "points must be at most ", kFurthestPoint_m, " m from zero in x and y (got point ",
      point_number, " at x ", point.x(), " m, y ", point.y(), " m)"));
}

}  // namespace voxloc
