// SPDX-License-Identifier: Apache-2.0
//
// MapTransaction: changes of a map, gathered, built and then published as one revision, or dropped.
// Until Commit nothing of it is visible. Not thread-safe: one thread at a time; the calls that
// build take as long as the engine needs.

#ifndef VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_
#define VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "server/config/config.h"
#include "server/maps/map_build.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

// What transactions work with. All of it must outlive them.
struct MapContext {
  Engine& engine;
  ResidentMaps& maps;
  const Limits& limits;
  const Metrics& metrics;
};

struct TransactionBegin {
  std::string map;
  bool create = false;
  uint64_t base_revision = 0;  // 0: any
  bool clear = false;
  std::optional<MapBuildRequest> build;
};

// A piece of a tile, with the bytes that its points were sent as.
struct TileChunk {
  std::string tile_id;
  uint32_t index = 0;
  absl::string_view bytes;
  uint32_t crc32c = 0;  // checked already
  PointCloud points;
  size_t sent = 0;  // points in the bytes, those not finite included
  size_t not_finite = 0;
  bool last = false;
  uint64_t total_points = 0;
};

struct TileReceipt {
  std::string tile_id;
  size_t points = 0;
  size_t not_finite = 0;
  size_t cells = 0;
  bool replaces = false;
};

struct CommitReceipt {
  MapView view;
  uint32_t added = 0;
  uint32_t replaced = 0;
  uint32_t removed = 0;
};

class MapTransaction {
 public:
  // NotFound, Aborted, AlreadyExists, InvalidArgument: as UpdateMapTiles says.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapTransaction>> Open(
      const MapContext& context, const TransactionBegin& begin);

  // A receipt when the tile is complete. FailedPrecondition: out of order; DataLoss: a count does
  // not match; ResourceExhausted: a limit; InvalidArgument: points that cannot be built.
  [[nodiscard]] absl::StatusOr<std::optional<TileReceipt>> AddChunk(TileChunk chunk);

  // Whether there was such a tile.
  [[nodiscard]] absl::StatusOr<bool> RemoveTile(const std::string& tile_id);

  [[nodiscard]] absl::StatusOr<CommitReceipt> Commit();

  [[nodiscard]] const std::string& map() const { return begin_.map; }
  [[nodiscard]] const MapBuild& build() const { return *build_; }
  // What it began from; 0: the map did not exist.
  [[nodiscard]] uint64_t base_revision() const { return base_revision_; }

 private:
  struct Staged {
    MapTile tile;
    uint32_t crc32c = 0;
  };
  struct Unfinished {
    std::string tile_id;
    uint32_t next_index = 0;
    uint32_t crc32c = 0;
    PointCloud points;
    uint64_t sent = 0;
    size_t not_finite = 0;
  };

  MapTransaction(const MapContext& context, const TransactionBegin& begin)
      : context_(context), begin_(begin) {}

  [[nodiscard]] absl::Status Start();
  [[nodiscard]] absl::Status CheckOrder(const TileChunk& chunk) const;
  [[nodiscard]] absl::StatusOr<TileReceipt> FinishTile();
  // Whether one more tile can be changed.
  [[nodiscard]] absl::Status CheckRoom(const std::string& tile_id) const;
  [[nodiscard]] bool Has(const std::string& tile_id) const;
  // The map as it is now, or an empty view; Aborted when it is not what this began from any more.
  [[nodiscard]] absl::StatusOr<MapView> Current() const;
  [[nodiscard]] absl::StatusOr<CommitReceipt> CommitOnto(const MapView& current) const;
  [[nodiscard]] absl::Status CheckSize(const MapSnapshot& next) const;

  const MapContext context_;
  const TransactionBegin begin_;
  std::shared_ptr<const MapBuild> build_;
  uint64_t base_revision_ = 0;
  std::shared_ptr<const MapSnapshot> base_;  // null: none
  std::optional<Unfinished> unfinished_;
  // By tile id; nullopt: to be removed.
  std::map<std::string, std::optional<Staged>> staged_;
  uint64_t staged_points_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_
