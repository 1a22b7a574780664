// SPDX-License-Identifier: Apache-2.0
//
// MapTransaction: collects changes of a map, builds the tiles, and publishes all as one revision or
// discards them. Nothing is visible before Commit. Not thread-safe; calls that build tiles block on
// the engine.

#ifndef VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_
#define VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"
#include "core/geodesy/map_frame.h"
#include "server/maps/map_build.h"
#include "server/maps/map_library.h"

namespace voxloc::server {

struct TransactionBegin {
  std::string map;
  bool create = false;
  uint64_t base_revision = 0;  // 0: any
  bool clear = false;
  std::optional<MapBuildRequest> build;
  std::optional<MapFrame> frame;  // as MakeMapFrame returns it
  std::string request_id;         // empty: none
  uint64_t from_revision = 0;     // 0: the active one
};

struct TransactionCommit {
  std::string comment;
  bool stage = false;
  std::vector<std::string> canary_vehicles;
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
  std::optional<Sha256Digest> digest;  // that the tile should have, with `last`
};

struct TileReceipt {
  std::string tile_id;
  size_t points = 0;
  size_t not_finite = 0;
  size_t cells = 0;
  bool replaces = false;
  Sha256Digest digest{};
};

class MapTransaction {
 public:
  // NotFound, Aborted, AlreadyExists, InvalidArgument: as UpdateMapTiles says.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapTransaction>> Open(
      MapLibrary& library, const TransactionBegin& begin);

  // A receipt when the tile is complete. FailedPrecondition: out of order; DataLoss: a count or the
  // digest does not match; ResourceExhausted: a limit; InvalidArgument: points that cannot be
  // built.
  [[nodiscard]] absl::StatusOr<std::optional<TileReceipt>> AddChunk(TileChunk chunk);

  // Adds a tile with content that is already in the store. nullopt: the content is missing or
  // incomplete, or the writer may not reuse it (MapLibrary::MayReuseContent). No check if `may_use`
  // is null.
  [[nodiscard]] absl::StatusOr<std::optional<TileReceipt>> ReuseTile(
      const std::string& tile_id, const Sha256Digest& digest, const MayUseMap& may_use = nullptr);

  // Whether there was such a tile.
  [[nodiscard]] absl::StatusOr<bool> RemoveTile(const std::string& tile_id);

  [[nodiscard]] absl::StatusOr<CommitReceipt> Commit(const TransactionCommit& commit);

  [[nodiscard]] const std::string& map() const { return begin_.map; }
  [[nodiscard]] const MapBuild& build() const { return *build_; }
  // The active revision at the start; 0: the map did not exist.
  [[nodiscard]] uint64_t base_revision() const { return base_revision_; }
  // The revision as which this request was committed before; 0: it was not.
  [[nodiscard]] uint64_t committed_revision() const { return committed_revision_; }

 private:
  struct PendingTile {
    std::string tile_id;
    uint32_t next_index = 0;
    uint32_t crc32c = 0;
    PointCloud points;
    uint64_t sent = 0;
    size_t not_finite = 0;
    std::unique_ptr<ContentUpload> upload;
  };

  MapTransaction(MapLibrary& library, const TransactionBegin& begin)
      : library_(library), begin_(begin), takeovers_(library.takeovers()) {}

  [[nodiscard]] absl::Status Start();
  // AlreadyExists: the map has another frame than this is to give it.
  [[nodiscard]] absl::Status CheckFrame(const MapView& map) const;
  [[nodiscard]] absl::Status CheckOrder(const TileChunk& chunk) const;
  [[nodiscard]] absl::Status CheckNoPendingTile(absl::string_view what) const;
  [[nodiscard]] absl::Status AppendChunk(TileChunk& chunk, PendingTile& tile) const;
  [[nodiscard]] TileReceipt Stage(const std::string& tile_id, MapTile tile, size_t not_finite);
  // Whether one more tile can be changed.
  [[nodiscard]] absl::Status CheckTileLimit(const std::string& tile_id) const;
  [[nodiscard]] bool HasTile(const std::string& tile_id) const;
  // The current map, or an empty view. Aborted: it has changed since the transaction started.
  [[nodiscard]] absl::StatusOr<MapView> Current() const;
  // All changes against `current`; tiles that have to be read from the store are not resident.
  [[nodiscard]] TileCatalogue::Change ChangeOf(const MapSnapshot* current) const;

  MapLibrary& library_;
  const TransactionBegin begin_;
  const uint64_t takeovers_;  // of engines, before the first tile
  std::shared_ptr<const MapBuild> build_;
  uint64_t base_revision_ = 0;
  uint64_t committed_revision_ = 0;
  std::shared_ptr<const MapSnapshot> base_;  // null: none
  std::optional<Manifest> from_;             // of from_revision
  std::optional<PendingTile> pending_;
  TileCatalogue::Change staged_;
  uint64_t staged_points_ = 0;
  size_t resident_bytes_ = 0;  // of the staged tiles that are in memory
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_TRANSACTION_H_
