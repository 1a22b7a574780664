// SPDX-License-Identifier: Apache-2.0
//
// ResidentMaps: the maps that the server holds, by name, each at its newest revision. Publishing
// swaps one pointer: readers see the old revision or the new one, never a mixture, and never wait
// for a build. A revision that has no owner left is freed on the mapping queue. Thread-safe. The
// queue must outlive this object and all views.

#ifndef VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
#define VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/map/map_snapshot.h"
#include "server/maps/map_build.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// Checksums of the points that tiles were sent as, by tile id.
using TileChecksums = std::map<std::string, uint32_t>;

// What is known about one revision of a map in addition to its snapshot.
struct MapFacts {
  std::shared_ptr<const MapBuild> build;  // the same object until the map is deleted
  TileChecksums checksums;
  Bounds bounds;
  size_t points = 0;
  size_t memory_bytes = 0;  // of tiles and cells
};

// One revision of a map. Both pointers own the whole revision.
struct MapView {
  std::shared_ptr<const MapSnapshot> snapshot;
  std::shared_ptr<const MapFacts> facts;

  // Owns the whole revision.
  [[nodiscard]] std::shared_ptr<const ResidentMap> resident() const {
    return {snapshot, snapshot->resident.get()};
  }
};

class ResidentMaps {
 public:
  ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping);

  // NotFound lists the names of the maps.
  [[nodiscard]] absl::StatusOr<MapView> Find(absl::string_view name) const;
  // Looks up a map by a name from a client. InvalidArgument: not a name of a map; NotFound: no such
  // map; FailedPrecondition: its revision is below `min_revision`.
  [[nodiscard]] absl::StatusOr<MapView> FindAtLeast(absl::string_view name,
                                                    uint64_t min_revision) const;
  [[nodiscard]] std::vector<MapView> List() const;  // by name
  [[nodiscard]] size_t size() const;

  // Makes `snapshot` the successor of revision `base_revision` (0: the map must not exist). The
  // snapshot gets its revision, one higher, and the time; tiles of revision 0 get the same
  // revision. Aborted: the map is not at `base_revision`; ResourceExhausted: it would be one map
  // too many.
  [[nodiscard]] absl::StatusOr<MapView> Publish(MapSnapshot snapshot,
                                                std::shared_ptr<const MapBuild> build,
                                                TileChecksums checksums, uint64_t base_revision);

  // Returns the last revision. NotFound; Aborted when the map is not at `revision` (0: any).
  [[nodiscard]] absl::StatusOr<uint64_t> Remove(absl::string_view name, uint64_t revision);

 private:
  struct Revision {
    MapSnapshot snapshot;
    MapFacts facts;
  };
  using RevisionPtr = std::shared_ptr<const Revision>;

  [[nodiscard]] static MapView ViewOf(const RevisionPtr& revision);
  // Shared ownership whose last owner posts the revision to the mapping queue, which frees it.
  [[nodiscard]] RevisionPtr FreedOnQueue(std::unique_ptr<const Revision> revision) const;
  [[nodiscard]] absl::StatusOr<RevisionPtr> Get(absl::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateMetrics() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_maps_;
  const Metrics& metrics_;
  WorkQueue& mapping_;
  mutable absl::Mutex mutex_;
  std::map<std::string, RevisionPtr, std::less<>> maps_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENT_MAPS_H_
