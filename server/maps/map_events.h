// SPDX-License-Identifier: Apache-2.0
//
// MapEvents: notifies watchers of changes of maps. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_MAP_EVENTS_H_
#define VOXLOC_SERVER_MAPS_MAP_EVENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/maps/resident_maps.h"

namespace voxloc::server {

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

#endif  // VOXLOC_SERVER_MAPS_MAP_EVENTS_H_
