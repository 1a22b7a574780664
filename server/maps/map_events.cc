// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_events.h"

#include <utility>

namespace voxloc::server {

std::vector<std::string> ChangedTiles(const MapSnapshot* before, const MapSnapshot& after) {
  const TileCatalogue none;
  const TileCatalogue& tiles = before == nullptr ? none : before->tiles;
  std::vector<std::string> changed;
  after.tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    const MapTile* const same = tiles.Find(entry.first);
    if (same == nullptr || same->digest != entry.second.digest) changed.push_back(entry.first);
  });
  tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    if (after.tiles.Find(entry.first) == nullptr) changed.push_back(entry.first);
  });
  return changed;
}

std::shared_ptr<void> MapEvents::Watch(Watcher watcher, const std::function<void()>& begin) {
  const absl::MutexLock lock(&state_->mutex);
  const uint64_t number = state_->next++;
  begin();
  state_->watchers.emplace(number, std::move(watcher));
  return {nullptr, [state = state_, number](void* /*nothing*/) {
            const absl::MutexLock removing(&state->mutex);
            state->watchers.erase(number);
          }};
}

void MapEvents::Notify(const MapEvent& event) {
  const absl::MutexLock lock(&state_->mutex);
  for (const auto& [number, watcher] : state_->watchers) watcher(event);
}

}  // namespace voxloc::server
