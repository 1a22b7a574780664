// SPDX-License-Identifier: Apache-2.0
//
// Residency: decides which tiles are in memory. A map that fits is fully resident. Of a larger one,
// the tiles that vehicles need are loaded ahead of them, and the least recently needed ones are
// evicted. Failures are retried with an exponential backoff.
//
// Works in short steps on the mapping queue, interleaved with other changes of maps; a step
// publishes the same revision with other tiles resident. At startup, a map is opened to requests
// once it is fully loaded or, if that takes long, once the tiles around the last poses of its
// vehicles are. After a failover, all maps are reloaded on the new engine in the same way, starting
// around the vehicles.
//
// SwitchEngineNow, Wake and full are thread-safe. The queue must be stopped before the referenced
// objects are destroyed.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_H_

#include <Eigen/Core>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/map/tile_catalogue.h"
#include "server/config/config.h"
#include "server/maps/map_library.h"
#include "server/maps/residency/places_in_use.h"
#include "server/maps/resident_maps.h"
#include "server/observe/metrics/metrics.h"
#include "server/scheduling/timeout_watch.h"
#include "server/scheduling/work_queue.h"

namespace voxloc::server {

class Residency : public TimeoutWatch::Watched, public std::enable_shared_from_this<Residency> {
 public:
  struct Parts {
    MapLibrary& library;
    ResidentMaps& maps;
    PlacesInUse& places;
    ThreadPool& threads;  // that load tiles
    WorkQueue& mapping;
    const Metrics& metrics;
    ResidencyOptions options;
    const std::atomic<uint64_t>& max_bytes;  // of all maps
  };
  explicit Residency(const Parts& parts) : parts_(parts) {}

  // After a failover: posts the switch to the new engine without waiting for the watch.
  void SwitchEngineNow();

  // Vehicles need other tiles than before.
  void Wake() { woken_.store(true, std::memory_order_relaxed); }

  // Of all maps.
  [[nodiscard]] uint64_t max_bytes() const { return parts_.max_bytes.load(); }
  // Whether there is no memory for tiles that no vehicle needs.
  [[nodiscard]] bool full() const { return full_at_.load(std::memory_order_relaxed) != 0; }

  // On the watch's thread: posts a step where one is due.
  TimeoutWatch::Clock::time_point Poll(TimeoutWatch::Clock::time_point now) override;

 private:
  using Clock = PlacesInUse::Clock;

  // What is remembered of a map, on the mapping queue alone.
  struct MapState {
    Clock::time_point first_seen;
    // When a tile was last needed, by its id.
    absl::flat_hash_map<std::string, Clock::time_point> needed;
    Clock::time_point retry_at;  // after a failure
    int failures = 0;            // since the last success
    bool full = false;           // vehicles need more than there is memory for
  };
  // A tile that is to be loaded.
  struct TileToLoad {
    std::string id;
    MapTile tile;
  };
  struct Task {
    std::string map;
    std::vector<MapView> views;
    std::vector<TileToLoad> tiles;  // the most urgent first
    bool needed = false;            // by vehicles, so that others make room
    double step_s = 0.0;            // after which it is published
  };
  // False: the queue is full.
  bool PostStep();
  void Step();
  // False: the maps belong to a failed engine and could not be rebuilt.
  [[nodiscard]] bool SwitchEngine(Clock::time_point now);
  [[nodiscard]] std::optional<Task> ChooseTask(Clock::time_point now);
  // Those of the task's map that are missing: those needed, or all others.
  [[nodiscard]] std::vector<TileToLoad> FindMissing(const Task& task, bool needed, MapState& state,
                                                    Clock::time_point now);
  void Load(Task& task, Clock::time_point now);
  // Drops tiles from the end of the list that do not fit into memory.
  void TrimToMemory(Task& task, MapState& state, Clock::time_point now);
  // Evicts the least recently needed tiles until `bytes` are free. Returns min(bytes, free bytes).
  [[nodiscard]] size_t EvictUntilFree(size_t bytes, Clock::time_point now);
  [[nodiscard]] absl::Status Publish(const Task& task);
  void ScheduleRetry(const std::string& map, MapState& state, const absl::Status& status,
                     Clock::time_point now);

  const Parts parts_;
  std::atomic<bool> woken_{true};
  std::atomic<bool> posted_{false};
  // Bytes of all maps when there was no memory for another tile that nobody needs; 0: there is.
  std::atomic<size_t> full_at_{0};
  Clock::time_point next_step_;  // used by the watch's thread
  std::map<std::string, MapState> states_;
  Clock::time_point switch_retry_at_;  // when SwitchEngine may try again
};

// ResidencyCheck: checks whether the part of a map that a request needs is in memory, and requests
// the missing tiles. Cheap if the map is fully resident. Thread-safe.
class ResidencyCheck {
 public:
  ResidencyCheck(const ResidencyOptions& options, PlacesInUse& places, Residency& residency)
      : options_(options), places_(places), residency_(residency) {}

  // Records a vehicle's position and velocity (map frame, m/s; zero: unknown), and counts the tiles
  // within lidar_radius_m. All counts are zero if the map is fully resident.
  [[nodiscard]] TileResidency::Counts Record(const MapView& view,
                                             const Eigen::Vector3d& position_map,
                                             const Eigen::Vector3d& velocity_map);

  // Ok where all tiles within lidar_radius_m of the box are in memory, as far as they can be.
  // Unavailable, with a time to try again after: they are being loaded. FailedPrecondition: there
  // is no memory for so many.
  [[nodiscard]] absl::Status EnsureResident(const MapView& view, const Eigen::Vector2d& min,
                                            const Eigen::Vector2d& max);

 private:
  // Whether the tiles around the box could be in memory together, as far as is known.
  [[nodiscard]] bool FitsInMemory(const MapView& view, const Eigen::Vector2d& min,
                                  const Eigen::Vector2d& max) const;

  const ResidencyOptions options_;
  PlacesInUse& places_;
  Residency& residency_;
};

// A message text.
[[nodiscard]] std::string DescribeMissing(absl::string_view map,
                                          const TileResidency::Counts& counts);
// The error of a request that needs tiles not yet loaded: Unavailable with a retry delay.
[[nodiscard]] absl::Status TilesLoadingError(absl::string_view map, absl::string_view detail);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_H_
