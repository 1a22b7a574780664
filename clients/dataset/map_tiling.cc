// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_tiling.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace voxloc {
namespace {

constexpr double kMinTileSize_m = 1.0;
constexpr double kMaxTileSize_m = 1e6;
constexpr double kFurthestPoint_m = 1e9;

using TileIndex = std::pair<int64_t, int64_t>;

// Millimetres at most: "-20", "12.5".
std::string MetresText(double metres) {
  std::string text = absl::StrFormat("%.3f", metres);
  text.erase(text.find_last_not_of('0') + 1);
  return std::string(absl::StripSuffix(text, "."));
}

MapTile EmptyTile(const TileIndex& index, double tile_size_m, double origin_z) {
  MapTile tile;
  tile.bounds.min = Eigen::Vector2d(static_cast<double>(index.first) * tile_size_m,
                                    static_cast<double>(index.second) * tile_size_m);
  tile.bounds.max = tile.bounds.min.array() + tile_size_m;
  tile.id =
      absl::StrCat("x", MetresText(tile.bounds.min.x()), "_y", MetresText(tile.bounds.min.y()));
  tile.cloud.origin = {tile.bounds.min.x(), tile.bounds.min.y(), origin_z};
  return tile;
}

}  // namespace

absl::StatusOr<std::vector<MapTile>> SplitIntoTiles(const PointCloud& cloud, double tile_size_m) {
  if (!(tile_size_m >= kMinTileSize_m && tile_size_m <= kMaxTileSize_m)) {
    return absl::InvalidArgumentError(absl::StrCat("the tile size must be from ", kMinTileSize_m,
                                                   " to ", kMaxTileSize_m, " m (got ", tile_size_m,
                                                   ")"));
  }
  std::map<TileIndex, std::vector<size_t>> points_of;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3d point = cloud.Point(i);
    if (point.head<2>().cwiseAbs().maxCoeff() > kFurthestPoint_m) {
      return absl::InvalidArgumentError(absl::StrCat(
          "points must be at most ", kFurthestPoint_m, " m from zero in x and y (got point ", i,
          " at x ", point.x(), " m, y ", point.y(), " m)"));
    }
    const TileIndex index{static_cast<int64_t>(std::floor(point.x() / tile_size_m)),
                          static_cast<int64_t>(std::floor(point.y() / tile_size_m))};
    points_of[index].push_back(i);
  }

  std::vector<MapTile> tiles;
  tiles.reserve(points_of.size());
  for (const auto& [index, points] : points_of) {
    MapTile tile = EmptyTile(index, tile_size_m, cloud.origin.z());
    tile.cloud.Reserve(points.size());
    const Eigen::Vector3d shift = cloud.origin - tile.cloud.origin;
    for (const size_t i : points) {
      const Eigen::Vector3f offset = (shift + cloud.Offset(i).cast<double>()).cast<float>();
      tile.cloud.PushBack(offset.x(), offset.y(), offset.z());
      if (cloud.has_intensity()) tile.cloud.intensity.push_back(cloud.intensity[i]);
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

}  // namespace voxloc
