// SPDX-License-Identifier: Apache-2.0
//
// MapLibrary: the maps of a server, as the store keeps them and as the engine holds them, changed
// together: a revision is on the disk before it is in use. For one thread at a time, the mapping
// queue's, where nothing else is said; calls take as long as the disk and the engine need.

#ifndef VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_
#define VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/engine/failover/failover_engine.h"
#include "server/config/live_config.h"
#include "server/geodesy/map_frame.h"
#include "server/maps/map_build.h"
#include "server/maps/map_events.h"
#include "server/maps/moments/moments_cache.h"
#include "server/maps/recent_uploads.h"
#include "server/maps/resident_maps.h"
#include "server/maps/store/map_store.h"
#include "server/maps/tile_loader.h"
#include "server/observe/metrics/metrics.h"

namespace voxloc::server {

// What becomes a revision.
struct RevisionDraft {
  std::string map;
  std::shared_ptr<const MapBuild> build;
  std::optional<MapFrame> frame;  // of the map from now on; nullopt: as it was
  uint64_t base_revision = 0;     // the active one; 0: the map does not exist
  TileCatalogue::Change change;   // of it; revisions of its tiles are filled in
  std::string comment;
  std::string request_id;
  bool stage = false;
  std::vector<std::string> canary_vehicles;
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
    std::atomic<uint64_t>& max_bytes;  // of all maps in memory; FollowEngine sets it
    MomentsCache* moments = nullptr;   // null: every tile is built from its points
  };
  explicit MapLibrary(const Parts& parts)
      : parts_(parts), tiles_(parts.store, parts.engine, parts.metrics, parts.moments) {}

  // Where another engine has taken over: makes all maps anew on it, without a tile in memory, which
  // the residency then loads. Comes before every Refresh, MakeResident and Commit. Errors are the
  // engine's, and the next call tries again.
  [[nodiscard]] absl::Status FollowEngine();
  // Whether there is something to follow. Any thread.
  [[nodiscard]] bool engine_changed() const {
    return parts_.engine.takeovers() != followed_.load(std::memory_order_relaxed);
  }
  // How often another engine has taken over: what was built before belongs to one that has failed.
  [[nodiscard]] uint64_t takeovers() const { return parts_.engine.takeovers(); }

  [[nodiscard]] MapStore& store() const { return parts_.store; }
  [[nodiscard]] const ResidentMaps& maps() const { return parts_.maps; }
  // Any thread.
  [[nodiscard]] const TileLoader& tiles() const { return tiles_; }
  // As they are now.
  [[nodiscard]] std::shared_ptr<const Limits> limits() const { return parts_.config.limits(); }

  // Announces every map that the store has and returns their names. ResourceExhausted: there are
  // more than the limit.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> Announce();

  // Brings an announced map here, with its staged revisions, and none of its tiles: those come by
  // Refresh. Where that fails, the map answers with the reason.
  void Load(const std::string& map);

  // Where other servers write the store too: brings a map here to what the store has, as if that
  // had been committed here, and notifies those who watch. Comes before whatever is decided by what
  // the map is. Unavailable: the store does not answer, and the map stays as it is; other errors
  // are those of Commit and Load.
  [[nodiscard]] absl::Status Follow(const std::string& map);
  // Whether there is nothing to follow. Any thread.
  [[nodiscard]] bool IsFollowed(const StoredMap& stored) const;

  // Replaces a revision by itself with other tiles resident. `change`: of its tiles, which differ
  // in nothing else. ResourceExhausted: no memory.
  [[nodiscard]] absl::Status Refresh(const MapView& view, const TileCatalogue::Change& change);
  // How many bytes more of tiles a transaction may keep in memory.
  [[nodiscard]] size_t TransactionBytes() const;

  // Tiles with their points from the store, as many as there is memory for; resident ones of the
  // same content are shared. DataLoss: the content of a tile is damaged; the message names it.
  [[nodiscard]] absl::Status MakeResident(absl::string_view map, const MapBuild& build,
                                          TileCatalogue::Change& change);

  // Notes that this content was uploaded for a map.
  void NoteUpload(absl::string_view map, const Sha256Digest& digest);
  // Whether content is within the reach of a writer of `map`: it was uploaded for that map, or a
  // map that the writer may use has it.
  [[nodiscard]] absl::StatusOr<bool> IsWithinReach(absl::string_view map,
                                                   const Sha256Digest& digest,
                                                   const MayUseMap& may_use);
  // The tiles of a revision that can be read; 0: the active one. Those of a revision that is not in
  // memory are not resident. NotFound. Any thread.
  [[nodiscard]] absl::StatusOr<TilesOfRevision> FindTiles(const std::string& map,
                                                          uint64_t revision);
  // Aborted: the base is not the active revision any more; AlreadyExists: the map has another
  // frame; ResourceExhausted: a limit.
  [[nodiscard]] absl::StatusOr<CommitReceipt> Commit(const RevisionDraft& draft);
  // What Commit answered when this request was committed; nullopt: it was not.
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
  // Of Follow: a map that is new here, or is begun anew.
  [[nodiscard]] absl::Status FollowNew(const std::string& map);
  // The active revision as the store has it.
  [[nodiscard]] absl::Status FollowActive(const StoredMap& stored, const HeldMap& held,
                                          const std::shared_ptr<const MapBuild>& build);
  // The staged ones.
  [[nodiscard]] absl::Status FollowStaged(const StoredMap& stored,
                                          const std::shared_ptr<const MapBuild>& build);
  // Of a request that was committed before, as this revision.
  [[nodiscard]] absl::StatusOr<CommitReceipt> RepeatedReceipt(const std::string& map,
                                                              const StoredRevision& stored);
  // Of Activate: a revision that is not in memory.
  [[nodiscard]] absl::StatusOr<MapView> ActivateElsewhere(const std::string& map,
                                                          uint64_t revision);
  // Ends a map that is here.
  void Drop(const std::string& map, uint64_t revision);
  // A revision of the store, which shares the tiles that `known` (null: none) has as well. The
  // others are in memory, as many as there is room for, where `resident`.
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
  std::atomic<uint64_t> followed_{0};  // takeovers
  RecentUploads uploads_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_LIBRARY_H_
