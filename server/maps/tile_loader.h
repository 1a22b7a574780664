// SPDX-License-Identifier: Apache-2.0
//
// TileLoader: builds tiles in the engine's memory from points in the store, or imports them from
// the moments cache. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_TILE_LOADER_H_
#define VOXLOC_SERVER_MAPS_TILE_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/map/tile_catalogue.h"
#include "server/maps/map_build.h"
#include "server/maps/moments/moments_cache.h"
#include "server/maps/store/map_store.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

// What the store keeps of a tile, and what TileInfo.sha256 is the digest of: the origin as three
// float64, then every point's offsets as three float32, little-endian. Points are finite, in the
// order in which they came. Thread-safe: no shared state.

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
  PointCloud cloud_;
  bool has_origin_ = false;
  std::string rest_;  // the beginning of something that is not complete
};

class TileLoader {
 public:
  // `moments` may be null: every tile is built from its points.
  TileLoader(MapStore& store, Engine& engine, const Metrics& metrics, MomentsCache* moments)
      : store_(store), engine_(engine), metrics_(metrics), moments_(moments) {}

  // The points of a content, map frame. DataLoss and NotFound: it is damaged or gone; the message
  // names the tile.
  [[nodiscard]] absl::StatusOr<PointCloud> ReadPoints(absl::string_view tile_id,
                                                      const Sha256Digest& digest) const;
  // Reads and builds a tile; where the cache has the moments, its points are not read. Errors are
  // those of ReadPoints and of the engine.
  [[nodiscard]] absl::StatusOr<MapTile> Load(absl::string_view tile_id, const TileRecord& record,
                                             const MapBuild& build) const;
  // Builds a tile of points that the store already has under `digest`, or imports its moments from
  // the cache.
  [[nodiscard]] absl::StatusOr<MapTile> Build(const PointCloud& cloud_map,
                                              const Sha256Digest& digest, uint32_t crc32c,
                                              const MapBuild& build) const;
  // Reads the content and builds its tile. nullopt: the content is missing or incomplete.
  [[nodiscard]] absl::StatusOr<std::optional<MapTile>> BuildFromContent(
      absl::string_view tile_id, const Sha256Digest& digest, const MapBuild& build) const;

 private:
  // Null: the cache does not have it, or there is none.
  [[nodiscard]] std::shared_ptr<const ResidentTile> FindMoments(const TileRecord& record,
                                                                const MapBuild& build) const;
  // By the engine; the cache keeps it.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> BuildMoments(
      const PointCloud& cloud_map, const Sha256Digest& digest, const MapBuild& build) const;

  MapStore& store_;
  Engine& engine_;
  const Metrics& metrics_;
  MomentsCache* const moments_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_TILE_LOADER_H_
