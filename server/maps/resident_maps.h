// SPDX-License-Identifier: Apache-2.0
//
// ResidentMaps: the maps that scans can be aligned to, by name: of each the active revision, and
// those that some vehicles try before it is theirs too. Publishing swaps one pointer: readers see
// the old revision or the new one, never a mixture, and never wait for a build. A revision that has
// no owner left is freed on the mapping queue. Thread-safe. The queue must outlive this object and
// all views.

#ifndef VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
#define VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_

#include <cstddef>
#include <cstdint>
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
#include "core/map/map_snapshot.h"
#include "server/geodesy/map_frame.h"
#include "server/maps/map_build.h"
#include "server/maps/map_memory.h"
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
struct HeldMap {
  struct Staged {
    MapView view;
    std::vector<std::string> vehicles;  // that try it, in order, each once
  };
  MapView active;              // empty: none
  std::vector<Staged> staged;  // ascending by revision
  bool loading = false;        // announced, and not yet open
  absl::Status failure;        // of the loading
};

// As HeldMap has them.
[[nodiscard]] std::vector<std::string> SortedVehicles(std::vector<std::string> vehicles);

class ResidentMaps {
 public:
  // `names_in_errors`: whether the error for a map that does not exist names those that do; not
  // where callers may use some maps only.
  ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping,
               bool names_in_errors = true);

  // The revision that a vehicle uses: a staged one that it tries, else the active one. An empty
  // name tries none. NotFound lists the names of the maps; Unavailable: the map is being loaded, or
  // could not be;
  // FailedPrecondition: none of its revisions is active.
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
  [[nodiscard]] std::optional<HeldMap> Held(absl::string_view name) const;
  // Of the active revisions; staged ones share nearly all that they hold.
  [[nodiscard]] size_t MemoryBytes() const;

  // Makes room for a map that is about to come: until it does, Find answers Unavailable.
  // ResourceExhausted: it would be one too many.
  [[nodiscard]] absl::Status Announce(const std::string& name);
  // ResourceExhausted: a map of this name would be one too many.
  [[nodiscard]] absl::Status CheckRoom(absl::string_view name) const;
  // Where the engine that serves keeps maps: the host at first.
  void set_memory(MapMemory memory);
  // Maps that are there stay.
  void set_max_maps(size_t max_maps);
  // Whether a map was announced and has not been opened yet.
  [[nodiscard]] bool IsLoading(absl::string_view name) const;
  // All of those, by name.
  [[nodiscard]] std::vector<LoadingMap> Loading() const;
  // The loading failed, for now: Find answers Unavailable with the reason.
  void Fail(absl::string_view name, const absl::Status& reason);
  // Ends the loading of an announced map: Find finds it.
  void Open(absl::string_view name);
  // Replaces a revision that is here by itself, with other tiles resident.
  void Refresh(MapSnapshot snapshot);

  // Makes this revision the active one of its map; a staged revision of the same number is staged
  // no more. A map that was announced stays closed until it is opened.
  MapView Activate(MapSnapshot snapshot, MapFacts facts);
  // Lets these vehicles use this revision.
  MapView Stage(MapSnapshot snapshot, MapFacts facts, const std::vector<std::string>& vehicles);
  void SetCanary(absl::string_view name, uint64_t revision,
                 const std::vector<std::string>& vehicles);
  void Unstage(absl::string_view name, uint64_t revision);

  void Remove(absl::string_view name);

 private:
  // Shared ownership whose last owner posts the revision to the mapping queue, which frees it.
  [[nodiscard]] MapView FreedOnQueue(MapSnapshot snapshot, MapFacts facts) const;
  [[nodiscard]] absl::Status HasRoom(absl::string_view name) const
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
  std::map<std::string, HeldMap, std::less<>> maps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
