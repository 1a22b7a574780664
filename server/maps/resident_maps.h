// SPDX-License-Identifier: Apache-2.0
//
// ResidentMaps: the served maps by name, each with its active revision and the staged revisions
// that only canary vehicles use. Publishing swaps one pointer: readers see the old or the new
// revision, never a mixture, and never wait for a build. A revision is freed on the mapping queue
// after its last owner is gone. Thread-safe. The queue must outlive this object and all views.
// MapEvents: who watches changes of maps. Functions for the memory use of maps.

#ifndef VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
#define VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "core/geodesy/map_frame.h"
#include "core/map/tile_catalogue.h"
#include "server/config/config.h"
#include "server/maps/map_build.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// What is known about one revision of a map in addition to its snapshot.
struct MapFacts {
  std::shared_ptr<const MapBuild> build;
  std::optional<MapFrame> frame;               // where the map lies on the earth
  std::vector<uint64_t> restorable_revisions;  // the others that a transaction can start from
  bool durable = false;
};

// One revision of a map. Both pointers own the whole revision.
struct MapView {
  std::shared_ptr<const MapSnapshot> snapshot;
  std::shared_ptr<const MapFacts> facts;
  bool staged = false;  // was not the active revision when it was looked up

  // Owns the whole revision.
  [[nodiscard]] std::shared_ptr<const ResidentMap> resident() const {
    return {snapshot, snapshot->resident.get()};
  }
  // Of tiles and cells, bytes.
  [[nodiscard]] size_t MemoryBytes() const {
    return snapshot->resident->MemoryBytes() + snapshot->tiles.MemoryBytes();
  }
};

// A map that was announced and has not been opened.
struct LoadingMap {
  std::string name;
  int percent = 0;      // of its tiles that are in memory
  bool failed = false;  // it could not be loaded; that may be tried again
};

// All that is here of a map.
struct MapEntry {
  struct Staged {
    MapView view;
    std::vector<std::string> vehicles;  // that try it, in order, each once
  };
  MapView active;              // empty: none
  std::vector<Staged> staged;  // ascending by revision
  bool loading = false;        // announced, and not yet open
  absl::Status failure;        // of the loading
};

// As MapEntry has them.
[[nodiscard]] std::vector<std::string> SortedVehicles(std::vector<std::string> vehicles);

enum class MapMemory { kHost, kDevice };

// Where an engine of this name keeps maps.
[[nodiscard]] MapMemory MapMemoryOf(absl::string_view engine_name);

// Limits::max_map_memory_bytes or, if that is 0, three quarters of the engine's memory (for an
// engine on the host: of the memory that the process may use). The rest is for scans, searches, and
// maps that are composed while their predecessors are in use.
[[nodiscard]] uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine);

// bytes(composed map) / bytes(its tiles) of this snapshot. Without tiles, or if null: 5, an upper
// bound for towns with both profiles (CPU: 0.5; H200: 3.5 to 4.9, depending on the point distance;
// `voxloc_bench build --exchange`).
[[nodiscard]] double ComposedRatio(const MapSnapshot* snapshot);

// Bytes of a resident tile, including its part of the composed map.
[[nodiscard]] size_t BytesInMap(const ResidentTile& tile, double composed_ratio);

class ResidentMaps {
 public:
  // `names_in_errors`: whether NotFound errors list the existing maps; false if callers are
  // restricted to certain maps.
  ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping,
               bool names_in_errors = true);

  // The revision for a vehicle: the newest staged one of which it is a canary, else the active one
  // (always for an empty name). NotFound: no such map; Unavailable: the map is loading or failed to
  // load; FailedPrecondition: it has no active revision.
  [[nodiscard]] absl::StatusOr<MapView> Find(absl::string_view name,
                                             absl::string_view vehicle = {}) const;
  // Looks up a map by a name from a client. Beside Find's, InvalidArgument: not a name of a map;
  // FailedPrecondition: its revision is below `min_revision`.
  [[nodiscard]] absl::StatusOr<MapView> FindAtLeast(absl::string_view name, uint64_t min_revision,
                                                    absl::string_view vehicle = {}) const;
  // A revision that is resident: active or staged. NotFound.
  [[nodiscard]] absl::StatusOr<MapView> FindRevision(absl::string_view name,
                                                     uint64_t revision) const;
  [[nodiscard]] std::vector<MapView> List() const;  // the active ones, by name
  [[nodiscard]] size_t size() const;                // maps, those that are being loaded included

  // Of all maps, those that are being loaded included.
  [[nodiscard]] std::vector<std::string> Names() const;
  // All revisions of a map that are here: the active one, then the staged ones.
  [[nodiscard]] std::vector<MapView> Views(absl::string_view name) const;
  // nullopt: there is no such map.
  [[nodiscard]] std::optional<MapEntry> FindEntry(absl::string_view name) const;
  // Of the active revisions; staged ones share nearly all that they hold.
  [[nodiscard]] size_t MemoryBytes() const;

  // Adds a map in the state loading: Find returns Unavailable until Open. ResourceExhausted: the
  // limit of maps is reached.
  [[nodiscard]] absl::Status Register(const std::string& name);
  // ResourceExhausted: a map of this name would exceed the limit.
  [[nodiscard]] absl::Status CheckCapacity(absl::string_view name) const;
  // Where the current engine keeps maps; initially the host.
  void set_memory(MapMemory memory);
  // Does not remove existing maps.
  void set_max_maps(size_t max_maps);
  // Whether a map was announced and has not been opened yet.
  [[nodiscard]] bool IsLoading(absl::string_view name) const;
  // All of those, by name.
  [[nodiscard]] std::vector<LoadingMap> Loading() const;
  // The loading failed, for now: Find answers Unavailable with the reason.
  void Fail(absl::string_view name, const absl::Status& reason);
  // Ends the loading of an announced map: Find finds it.
  void Open(absl::string_view name);
  // Replaces a resident revision by the same one with other tiles resident.
  void UpdateResidency(MapSnapshot snapshot);

  // Makes this revision the active one of its map and removes it from the staged ones. A loading
  // map stays closed until Open.
  MapView Activate(MapSnapshot snapshot, MapFacts facts);
  // Adds a staged revision, used by these canary vehicles.
  MapView Stage(MapSnapshot snapshot, MapFacts facts, const std::vector<std::string>& vehicles);
  void SetCanary(absl::string_view name, uint64_t revision,
                 const std::vector<std::string>& vehicles);
  void Unstage(absl::string_view name, uint64_t revision);

  void Remove(absl::string_view name);

 private:
  // Shared ownership whose last owner posts the revision to the mapping queue, which frees it.
  [[nodiscard]] MapView MakeView(MapSnapshot snapshot, MapFacts facts) const;
  [[nodiscard]] absl::Status CheckCapacityLocked(absl::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] absl::Status NoSuchMap(absl::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateMetrics() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool names_in_errors_;
  const Metrics& metrics_;
  WorkQueue& mapping_;
  mutable absl::Mutex mutex_;
  size_t max_maps_ ABSL_GUARDED_BY(mutex_);
  MapMemory memory_ ABSL_GUARDED_BY(mutex_) = MapMemory::kHost;
  std::map<std::string, MapEntry, std::less<>> maps_ ABSL_GUARDED_BY(mutex_);
};

enum class MapEventKind { kPresent, kCreated, kUpdated, kDeleted, kStaged, kWithdrawn };

struct MapEvent {
  MapEventKind kind = MapEventKind::kPresent;
  std::string map;
  uint64_t revision = 0;
  MapView view;  // of that revision; empty after a deletion or a withdrawal
  std::vector<std::string> changed_tiles;
};

// Ids of the tiles that were added or whose content changed since `before` (null: no revision
// before), followed by the ids of the removed tiles.
[[nodiscard]] std::vector<std::string> ChangedTiles(const MapSnapshot* before,
                                                    const MapSnapshot& after);

// Notifies watchers of changes of maps. Thread-safe.
class MapEvents {
 public:
  // Called for each event in order, under a lock: must be short and must not call MapEvents.
  using Watcher = std::function<void(const MapEvent&)>;

  // Watches until the result is destroyed; its destruction waits for a running call. `begin` is
  // called under the lock before the watcher is added, so that no event is missed.
  [[nodiscard]] std::shared_ptr<void> Watch(Watcher watcher, const std::function<void()>& begin);

  void Notify(const MapEvent& event);

 private:
  struct State {
    absl::Mutex mutex;
    uint64_t next ABSL_GUARDED_BY(mutex) = 0;
    std::map<uint64_t, Watcher> watchers ABSL_GUARDED_BY(mutex);
  };
  // Shared with what Watch returns.
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
