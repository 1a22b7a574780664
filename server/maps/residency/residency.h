// SPDX-License-Identifier: Apache-2.0
//
// Residency: decides which tiles are in memory. A map that fits is fully resident. Of a larger one,
// the tiles that vehicles need are loaded ahead of them, and the least recently needed ones are
// evicted. Failures are retried with an exponential backoff.
//
// With an idle timeout, maps are loaded on demand: one is open at once, without tiles, its tiles
// are loaded when it is used, and dropped when it has not been used for that time, or earlier where
// a map with sessions needs the memory, the least recently used map first.
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

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
    // Since when a map without tiles is loaded on demand.
    std::optional<Clock::time_point> demanded_at;
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
  [[nodiscard]] bool on_demand() const { return parts_.options.idle_timeout_s > 0.0; }
  // As PlacesInUse has it; max(), as of maps with sessions, unless maps are loaded on demand.
  [[nodiscard]] Clock::time_point LastUse(const std::string& map) const {
    return on_demand() ? parts_.places.LastUse(map) : Clock::time_point::max();
  }
  // Whether tiles in memory are of maps without sessions.
  [[nodiscard]] bool HasUnheldTiles() const;
  // Maps that were used since are to be in memory.
  [[nodiscard]] Clock::time_point UsedSince(Clock::time_point now) const;
  // Drops the tiles of maps that are not used any more.
  void DropUnused(Clock::time_point now);
  // Follows the loading of a map on demand: log and metrics.
  void RecordDemand(const Task& task, bool whole, MapState& state, Clock::time_point now);
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
  // Evicts tiles until `bytes` are free, those of the least recently used maps and the least
  // recently needed ones first; with `used_before`, only of maps whose last use was before that.
  // Returns min(bytes, free bytes).
  [[nodiscard]] size_t EvictUntilFree(size_t bytes, std::optional<Clock::time_point> used_before,
                                      Clock::time_point now);
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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_H_
