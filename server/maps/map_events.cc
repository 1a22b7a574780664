// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_events.h"

#include <utility>

namespace voxloc::server {

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

void MapEvents::Tell(const MapEvent& event) {
  const absl::MutexLock lock(&state_->mutex);
  for (const auto& [number, watcher] : state_->watchers) watcher(event);
}

}  // namespace voxloc::server
