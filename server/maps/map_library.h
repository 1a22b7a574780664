// SPDX-License-Identifier: Apache-2.0
//
// MapLibrary: the maps of a server, kept consistent between the store and the engine: a revision is
// on disk before it is used. Unless stated otherwise, called only on the thread of the mapping
// queue; calls block on the disk and the engine.

#ifndef VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_
#define VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/checksum/sha256.h"
#include "core/engine/failover/failover_engine.h"
#include "core/geodesy/map_frame.h"
#include "server/config/settings.h"
#include "server/maps/map_build.h"
#include "server/maps/moments/moments_cache.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/map_store.h"
#include "server/maps/tile_loader.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

// RecentUploads: the tile contents uploaded per map, so that a client that may write only this map
// can reuse them after a failed transaction. Above a limit the oldest are evicted, and a restart
// clears the list; clients then upload again. Thread-safe.
class RecentUploads {
 public:
  // Keeps at most `max` of them from now on.
  void Add(absl::string_view map, const Sha256Digest& digest, size_t max);
  [[nodiscard]] bool Has(absl::string_view map, const Sha256Digest& digest) const;

 private:
  using Upload = std::pair<std::string, Sha256Digest>;  // map and content

  mutable absl::Mutex mutex_;
  std::list<Upload> by_age_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  absl::flat_hash_map<Upload, std::list<Upload>::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

// What becomes a revision.
struct RevisionDraft {
  RevisionCommit stored;  // build, frame and change are filled in
  std::shared_ptr<const MapBuild> build;
  std::optional<MapFrame> frame;  // of the map from now on; nullopt: as it was
  TileCatalogue::Change change;   // of the base revision; revisions of its tiles are filled in
};

struct CommitReceipt {
  MapView view;
  uint32_t added = 0;
  uint32_t replaced = 0;
  uint32_t removed = 0;
  double store_s = 0.0;   // of keeping it
  bool repeated = false;  // the request was committed before
};

struct TilesOfRevision {
  uint64_t revision = 0;
  TileCatalogue tiles;
};

// Whether a caller may use a map of this name.
using MayUseMap = std::function<bool(const std::string& map)>;

class MapLibrary {
 public:
  struct Parts {
    MapStore& store;
    FailoverEngine& engine;
    ResidentMaps& maps;
    MapEvents& events;
    const LiveConfig& config;
    const Metrics& metrics;
    std::atomic<uint64_t>& max_bytes;  // of all maps in memory; SwitchEngine sets it
    MomentsCache* moments = nullptr;   // null: every tile is built from its points
  };
  explicit MapLibrary(const Parts& parts)
      : parts_(parts), tiles_(parts.store, parts.engine, parts.metrics, parts.moments) {}

  // After a failover: rebuilds all maps on the new engine without resident tiles, which Residency
  // then loads. Must be called before UpdateResidency, MakeResident and Commit. On an error of the
  // engine, the next call retries.
  [[nodiscard]] absl::Status SwitchEngine();
  // Whether SwitchEngine has work to do. Any thread.
  [[nodiscard]] bool engine_changed() const {
    return parts_.engine.takeovers() != applied_takeovers_.load(std::memory_order_relaxed);
  }
  // Number of failovers. Objects built before the last one belong to a failed engine.
  [[nodiscard]] uint64_t takeovers() const { return parts_.engine.takeovers(); }

  // Republishes a revision without resident tiles. On the queue.
  [[nodiscard]] absl::Status DropTiles(const MapView& view);

  [[nodiscard]] MapStore& store() const { return parts_.store; }
  [[nodiscard]] const ResidentMaps& maps() const { return parts_.maps; }
  // Those that maps can serve.
  [[nodiscard]] ProfileSet profiles() const { return parts_.config.Get()->profiles; }
  // Any thread.
  [[nodiscard]] const TileLoader& tiles() const { return tiles_; }
  // As they are now.
  [[nodiscard]] std::shared_ptr<const Limits> limits() const { return parts_.config.limits(); }

  // Registers every map of the store as loading and returns their names. ResourceExhausted: more
  // maps than the limit.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Register();

  // Loads a registered map and its staged revisions, without resident tiles, which
  // UpdateResidency adds. On failure, requests for the map get the reason.
  void Load(const std::string& map);

  // With a store shared by several servers: updates a served map to its state in the store, as if
  // the change had been committed here, and notifies watchers. Must be called before any decision
  // that depends on the map's state. Unavailable: the store does not respond, the map is unchanged;
  // other errors are those of Commit and Load.
  [[nodiscard]] absl::Status Sync(const std::string& map);
  // Whether the served map equals the stored one. Any thread.
  [[nodiscard]] bool IsInSync(const StoredMap& stored) const;

  // Replaces a revision by the same one with other tiles resident; the tiles in `change` may differ
  // only in residency. ResourceExhausted: no memory.
  [[nodiscard]] absl::Status UpdateResidency(const MapView& view,
                                             const TileCatalogue::Change& change);
  // Bytes of additional tiles that a transaction may keep in memory.
  [[nodiscard]] size_t TransactionBudgetBytes() const;

  // Tiles with their points from the store, as many as there is memory for; resident ones of the
  // same content are shared. DataLoss: the content of a tile is damaged; the message names it.
  [[nodiscard]] absl::Status MakeResident(absl::string_view map, const MapBuild& build,
                                          TileCatalogue::Change& change);

  // Notes that this content was uploaded for a map.
  void RecordUpload(absl::string_view map, const Sha256Digest& digest);
  // Whether a writer of `map` may reuse this content: it was uploaded for that map, or belongs to a
  // map that the writer may use.
  [[nodiscard]] absl::StatusOr<bool> MayReuseContent(absl::string_view map,
                                                     const Sha256Digest& digest,
                                                     const MayUseMap& may_use);
  // The tiles of a revision that can be read; 0: the active one. Those of a revision that is not in
  // memory are not resident. NotFound. Any thread.
  [[nodiscard]] absl::StatusOr<TilesOfRevision> FindTiles(const std::string& map,
                                                          uint64_t revision);
  // Aborted: the base is not the active revision any more; AlreadyExists: the map has another
  // frame; ResourceExhausted: a limit.
  [[nodiscard]] absl::StatusOr<CommitReceipt> Commit(RevisionDraft draft);
  // The receipt of an earlier commit of this request; nullopt: it was not committed.
  [[nodiscard]] absl::StatusOr<std::optional<CommitReceipt>> FindCommitted(
      absl::string_view map, absl::string_view request_id);

  // As the store has them. Unavailable: the revision is not in memory, such as while the map is
  // being loaded, and nothing has changed.
  [[nodiscard]] absl::StatusOr<MapView> Activate(const std::string& map, uint64_t revision);
  [[nodiscard]] absl::StatusOr<StoredRevision> Withdraw(const std::string& map, uint64_t revision);
  [[nodiscard]] absl::StatusOr<StoredRevision> SetCanary(const std::string& map, uint64_t revision,
                                                         const std::vector<std::string>& vehicles);
  [[nodiscard]] absl::StatusOr<uint64_t> Delete(const std::string& map, uint64_t revision);
  // The map that was deleted last under this name, which is then loaded as after a start.
  // ResourceExhausted: too many maps.
  [[nodiscard]] absl::StatusOr<MapView> Undelete(const std::string& map);

 private:
  [[nodiscard]] absl::Status TryLoad(const std::string& name);
  // Loads a map that is new here, or was deleted and created again, for Sync.
  [[nodiscard]] absl::Status SyncNew(const std::string& map);
  // Updates the active revision to the one in the store.
  [[nodiscard]] absl::Status SyncActive(const StoredMap& stored, const MapEntry& entry,
                                        const std::shared_ptr<const MapBuild>& build);
  // Updates the staged revisions likewise.
  [[nodiscard]] absl::Status SyncStaged(const StoredMap& stored,
                                        const std::shared_ptr<const MapBuild>& build);
  // The receipt of a request that was committed before, as this revision.
  [[nodiscard]] absl::StatusOr<CommitReceipt> RepeatedReceipt(const std::string& map,
                                                              const StoredRevision& stored);
  // Activates a revision that is not in memory.
  [[nodiscard]] absl::StatusOr<MapView> ActivateNonResident(const std::string& map,
                                                            uint64_t revision);
  // Stops serving a map and notifies watchers.
  void Drop(const std::string& map, uint64_t revision);
  // A revision from the store. Tiles that `known` (may be null) also has are shared with it; if
  // `resident`, as many of the others as fit are loaded into memory.
  [[nodiscard]] absl::StatusOr<MapSnapshot> LoadRevision(const StoredMap& map,
                                                         const StoredRevision& revision,
                                                         const MapBuild& build,
                                                         const MapSnapshot* known, bool resident);
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      const TileCatalogue& tiles, const MapBuild& build, const MapSnapshot* previous);
  [[nodiscard]] absl::Status CheckSize(const TileCatalogue& tiles) const;
  [[nodiscard]] MapFacts FactsOf(const std::string& map, uint64_t revision,
                                 std::shared_ptr<const MapBuild> build) const;

  const Parts parts_;
  const TileLoader tiles_;
  std::atomic<uint64_t> applied_takeovers_{0};  // takeovers
  RecentUploads uploads_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_
