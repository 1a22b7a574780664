// SPDX-License-Identifier: Apache-2.0
//
// MapDirectory: the maps that the server has, each at its newest revision, with how it was built.
// Lookups and swaps are short and never wait for a build; snapshots that nobody needs any more are
// freed on the mapping queue. Thread-safe. Owns the snapshots; the queue must outlive it and them.

#ifndef VOXLOC_SERVER_MAPS_MAP_DIRECTORY_H_
#define VOXLOC_SERVER_MAPS_MAP_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/map/map_catalogue.h"
#include "core/map/map_snapshot.h"
#include "server/maps/map_build.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

// Checksums of the points that tiles were sent as, by tile id.
using TileChecksums = std::map<std::string, uint32_t>;

// What is known about one revision of a map besides its snapshot.
struct MapFacts {
  std::shared_ptr<const MapBuild> build;  // the same one as long as the map is not deleted
  TileChecksums checksums;
  Bounds bounds;
  size_t points = 0;
  size_t memory_bytes = 0;  // of tiles and cells
};

// A map as it is at one moment.
struct MapView {
  std::shared_ptr<const MapSnapshot> snapshot;
  std::shared_ptr<const MapFacts> facts;

  // Holds the whole snapshot.
  [[nodiscard]] std::shared_ptr<const ResidentMap> resident() const {
    return {snapshot, snapshot->resident.get()};
  }
};

class MapDirectory {
 public:
  MapDirectory(size_t max_maps, const Metrics& metrics, WorkQueue& mapping);

  // NotFound names the maps there are.
  [[nodiscard]] absl::StatusOr<MapView> Find(absl::string_view name) const;
  [[nodiscard]] std::vector<MapView> List() const;  // by name
  [[nodiscard]] size_t size() const;

  // Makes `snapshot` the successor of revision `base_revision` (0: the map must not exist), and
  // gives it its revision, one higher. Tiles of revision 0 get the new one. Errors: see
  // MapCatalogue::Publish.
  [[nodiscard]] absl::StatusOr<MapView> Publish(std::unique_ptr<MapSnapshot> snapshot,
                                                std::shared_ptr<const MapBuild> build,
                                                TileChecksums checksums, uint64_t base_revision);

  // Returns the last revision. NotFound; Aborted when the map is not at `revision` (0: any).
  [[nodiscard]] absl::StatusOr<uint64_t> Remove(absl::string_view name, uint64_t revision);

 private:
  [[nodiscard]] MapView ViewOf(std::shared_ptr<const MapSnapshot> snapshot) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::shared_ptr<const MapSnapshot> FreedOnQueue(
      std::unique_ptr<MapSnapshot> snapshot) const;
  void UpdateMetrics() const;

  const Metrics& metrics_;
  WorkQueue& mapping_;
  mutable absl::Mutex mutex_;
  MapCatalogue catalogue_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const MapFacts>, std::less<>> facts_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_MAP_DIRECTORY_H_
