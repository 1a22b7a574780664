// SPDX-License-Identifier: Apache-2.0

#include "server/maps/resident_maps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/host/process_limits.h"
#include "core/map/map_name.h"
#include "core/status/try.h"
#include "server/config/host_resources.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// After which a client asks again for a map that is being loaded.
constexpr double kLoadingRetryS = 1.0;

bool IsRevision(const MapView& view, uint64_t revision) {
  return view.snapshot != nullptr && view.snapshot->revision == revision;
}

// Of maps by name; null: there is none. As constant as the maps are.
template <typename Maps>
auto FindIn(Maps& maps, absl::string_view name) -> decltype(&maps.begin()->second) {
  const auto it = maps.find(name);
  return it == maps.end() ? nullptr : &it->second;
}

// Active or staged; null: there is none.
template <typename Map>
auto ViewOf(Map& map, uint64_t revision) -> decltype(&map.active) {
  if (IsRevision(map.active, revision)) return &map.active;
  for (auto& staged : map.staged) {
    if (IsRevision(staged.view, revision)) return &staged.view;
  }
  return nullptr;
}

// Returns it, for the caller to release after the lock.
MapView RemoveStaged(MapEntry& map, uint64_t revision) {
  const auto staged =
      std::find_if(map.staged.begin(), map.staged.end(),
                   [&](const MapEntry::Staged& s) { return IsRevision(s.view, revision); });
  if (staged == map.staged.end()) return {};
  MapView removed = std::move(staged->view);
  map.staged.erase(staged);
  return removed;
}

int LoadedPercent(const MapEntry& map) {
  if (map.active.snapshot == nullptr || map.active.snapshot->tiles.empty()) return 0;
  const TileCatalogue& tiles = map.active.snapshot->tiles;
  return static_cast<int>(100 * tiles.resident() / tiles.size());
}

// Of a map that is not open.
absl::Status LoadingStatus(absl::string_view name, const MapEntry& map) {
  if (!map.failure.ok()) {
    return WithReason(absl::UnavailableError(absl::StrCat(
                          "map ", name, " could not be loaded: ", map.failure.message())),
                      "MAP_NOT_LOADED", {{"map", std::string(name)}});
  }
  return WithRetryAfter(
      WithReason(absl::UnavailableError(
                     absl::StrCat("map ", name, " is being loaded (", LoadedPercent(map), " %)")),
                 "MAP_LOADING", {{"map", std::string(name)}}),
      kLoadingRetryS);
}

}  // namespace

std::vector<std::string> SortedVehicles(std::vector<std::string> vehicles) {
  std::sort(vehicles.begin(), vehicles.end());
  vehicles.erase(std::unique(vehicles.begin(), vehicles.end()), vehicles.end());
  return vehicles;
}

ResidentMaps::ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping,
                           bool names_in_errors)
    : names_in_errors_(names_in_errors),
      metrics_(metrics),
      mapping_(mapping),
      max_maps_(max_maps) {}

absl::StatusOr<MapView> ResidentMaps::Find(absl::string_view name,
                                           absl::string_view vehicle) const {
  const absl::MutexLock lock(&mutex_);
  const MapEntry* const map = FindIn(maps_, name);
  if (map == nullptr) return NoSuchMap(name);
  if (map->loading) return LoadingStatus(name, *map);
  if (!vehicle.empty()) {
    // The newest, where the vehicle tries several.
    for (auto staged = map->staged.rbegin(); staged != map->staged.rend(); ++staged) {
      const std::vector<std::string>& vehicles = staged->vehicles;
      if (std::binary_search(vehicles.begin(), vehicles.end(), vehicle)) {
        MapView view = staged->view;
        view.staged = true;
        return view;
      }
    }
  }
  if (map->active.snapshot != nullptr) return map->active;
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("map ", name, " has no active revision; revision ",
                                     map->staged.back().view.snapshot->revision, " is staged")),
                    "MAP_NOT_ACTIVE", {{"map", std::string(name)}});
}

absl::StatusOr<MapView> ResidentMaps::FindAtLeast(absl::string_view name, uint64_t min_revision,
                                                  absl::string_view vehicle) const {
  VOXLOC_TRY(ValidateMapName(name));
  auto view = Find(name, vehicle);
  if (view.ok() && view->snapshot->revision < min_revision) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("map ", name, " is at revision ",
                                                   view->snapshot->revision, ", below the ",
                                                   min_revision, " asked for")),
        "MAP_REVISION_TOO_OLD",
        {{"map", std::string(name)}, {"revision", absl::StrCat(view->snapshot->revision)}});
  }
  return view;
}

absl::StatusOr<MapView> ResidentMaps::FindRevision(absl::string_view name,
                                                   uint64_t revision) const {
  const absl::MutexLock lock(&mutex_);
  const MapEntry* const map = FindIn(maps_, name);
  if (map == nullptr) return NoSuchMap(name);
  const MapView* const view = ViewOf(*map, revision);
  if (view != nullptr) return *view;
  return absl::NotFoundError(
      absl::StrCat("revision ", revision, " of map ", name, " is not in memory"));
}

std::vector<MapView> ResidentMaps::List() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<MapView> views;
  views.reserve(maps_.size());
  for (const auto& [name, map] : maps_) {
    if (map.active.snapshot != nullptr && !map.loading) views.push_back(map.active);
  }
  return views;
}

std::vector<std::string> ResidentMaps::Names() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<std::string> names;
  names.reserve(maps_.size());
  for (const auto& [name, map] : maps_) names.push_back(name);
  return names;
}

std::vector<MapView> ResidentMaps::Views(absl::string_view name) const {
  const std::optional<MapEntry> map = FindEntry(name);
  std::vector<MapView> views;
  if (!map.has_value()) return views;
  if (map->active.snapshot != nullptr) views.push_back(map->active);
  for (const MapEntry::Staged& staged : map->staged) views.push_back(staged.view);
  return views;
}

std::optional<MapEntry> ResidentMaps::FindEntry(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const MapEntry* const map = FindIn(maps_, name);
  return map == nullptr ? std::nullopt : std::make_optional(*map);
}

size_t ResidentMaps::MemoryBytes() const {
  const absl::MutexLock lock(&mutex_);
  size_t bytes = 0;
  for (const auto& [name, map] : maps_) {
    if (map.active.snapshot != nullptr) bytes += map.active.MemoryBytes();
  }
  return bytes;
}

size_t ResidentMaps::size() const {
  const absl::MutexLock lock(&mutex_);
  return maps_.size();
}

absl::Status ResidentMaps::CheckCapacityLocked(absl::string_view name) const {
  if (maps_.size() < max_maps_ || maps_.count(name) > 0) return absl::OkStatus();
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "the server holds ", maps_.size(), " maps, its limit; delete one first")),
                    "TOO_MANY_MAPS", {{"limit", absl::StrCat(max_maps_)}});
}

void ResidentMaps::set_memory(MapMemory memory) {
  const absl::MutexLock lock(&mutex_);
  memory_ = memory;
  UpdateMetrics();
}

void ResidentMaps::set_max_maps(size_t max_maps) {
  const absl::MutexLock lock(&mutex_);
  max_maps_ = max_maps;
}

absl::Status ResidentMaps::CheckCapacity(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  return CheckCapacityLocked(name);
}

absl::Status ResidentMaps::Register(const std::string& name) {
  const absl::MutexLock lock(&mutex_);
  VOXLOC_TRY(CheckCapacityLocked(name));
  maps_[name].loading = true;
  return absl::OkStatus();
}

bool ResidentMaps::IsLoading(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const MapEntry* const map = FindIn(maps_, name);
  return map != nullptr && map->loading;
}

std::vector<LoadingMap> ResidentMaps::Loading() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<LoadingMap> loading;
  for (const auto& [name, map] : maps_) {
    if (map.loading) loading.push_back({name, LoadedPercent(map), !map.failure.ok()});
  }
  return loading;
}

void ResidentMaps::Fail(absl::string_view name, const absl::Status& reason) {
  const absl::MutexLock lock(&mutex_);
  if (MapEntry* const map = FindIn(maps_, name); map != nullptr) map->failure = reason;
}

void ResidentMaps::Open(absl::string_view name) {
  const absl::MutexLock lock(&mutex_);
  MapEntry* const map = FindIn(maps_, name);
  if (map == nullptr) return;
  map->loading = false;
  map->failure = absl::OkStatus();
}

void ResidentMaps::UpdateResidency(MapSnapshot snapshot) {
  MapView replaced;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  MapEntry* const map = FindIn(maps_, snapshot.name);
  if (map == nullptr) return;
  MapView* const at = ViewOf(*map, snapshot.revision);
  if (at == nullptr) return;
  replaced = *at;
  *at = MakeView(std::move(snapshot), *replaced.facts);
  UpdateMetrics();
}

MapView ResidentMaps::Activate(MapSnapshot snapshot, MapFacts facts) {
  MapView view = MakeView(std::move(snapshot), std::move(facts));
  MapView replaced;  // released after the lock
  MapView unstaged;
  const absl::MutexLock lock(&mutex_);
  MapEntry& map = maps_[view.snapshot->name];
  replaced = std::exchange(map.active, view);
  unstaged = RemoveStaged(map, view.snapshot->revision);
  UpdateMetrics();
  return view;
}

MapView ResidentMaps::Stage(MapSnapshot snapshot, MapFacts facts,
                            const std::vector<std::string>& vehicles) {
  MapView view = MakeView(std::move(snapshot), std::move(facts));
  const absl::MutexLock lock(&mutex_);
  maps_[view.snapshot->name].staged.push_back({view, SortedVehicles(vehicles)});
  UpdateMetrics();
  return view;
}

void ResidentMaps::SetCanary(absl::string_view name, uint64_t revision,
                             const std::vector<std::string>& vehicles) {
  const absl::MutexLock lock(&mutex_);
  MapEntry* const map = FindIn(maps_, name);
  if (map == nullptr) return;
  for (MapEntry::Staged& staged : map->staged) {
    if (IsRevision(staged.view, revision)) staged.vehicles = SortedVehicles(vehicles);
  }
}

void ResidentMaps::Unstage(absl::string_view name, uint64_t revision) {
  MapView unstaged;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  MapEntry& map = it->second;
  unstaged = RemoveStaged(map, revision);
  if (unstaged.snapshot == nullptr) return;
  if (map.active.snapshot == nullptr && map.staged.empty()) maps_.erase(it);
  UpdateMetrics();
}

void ResidentMaps::Remove(absl::string_view name) {
  MapEntry removed;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  removed = std::move(it->second);
  maps_.erase(it);
  UpdateMetrics();
}

MapView ResidentMaps::MakeView(MapSnapshot snapshot, MapFacts facts) const {
  struct Revision {
    MapSnapshot snapshot;
    MapFacts facts;
  };
  WorkQueue* const queue = &mapping_;
  const std::shared_ptr<const Revision> revision(
      new Revision{std::move(snapshot), std::move(facts)}, [queue](const Revision* released) {
        // If the queue rejects or drops the task, destroying the task frees the revision.
        std::shared_ptr<const Revision> last(released);
        const bool posted = queue->Post([last = std::move(last)] {});
        static_cast<void>(posted);
      });
  return {{revision, &revision->snapshot}, {revision, &revision->facts}};
}

absl::Status ResidentMaps::NoSuchMap(absl::string_view name) const {
  std::string message = absl::StrCat("no map \"", name, "\"");
  if (names_in_errors_) {
    const auto append_name = [](std::string* out, const auto& entry) { *out += entry.first; };
    absl::StrAppend(&message, "; ",
                    maps_.empty()
                        ? std::string("the server has none")
                        : absl::StrCat("there are: ", absl::StrJoin(maps_, ", ", append_name)));
  }
  return WithReason(absl::NotFoundError(message), "MAP_NOT_FOUND", {{"map", std::string(name)}});
}

void ResidentMaps::UpdateMetrics() const {
  size_t resident_maps = 0;
  size_t tiles = 0;
  size_t resident_tiles = 0;
  size_t points = 0;
  size_t cells = 0;
  size_t bytes = 0;
  for (const auto& [name, map] : maps_) {
    if (map.active.snapshot == nullptr) continue;
    const MapSnapshot& active = *map.active.snapshot;
    if (active.tiles.resident() > 0) ++resident_maps;
    tiles += active.tiles.size();
    resident_tiles += active.tiles.resident();
    points += active.tiles.points();
    bytes += map.active.MemoryBytes();
    const ResidentMap& resident = *active.resident;
    for (size_t i = 0; i < resident.statistics().size(); ++i) cells += resident.cells(i);
  }
  metrics_.maps.Set(static_cast<double>(maps_.size()));
  metrics_.maps_resident.Set(static_cast<double>(resident_maps));
  metrics_.map_tiles.Set(static_cast<double>(tiles));
  metrics_.map_tiles_resident.Set(static_cast<double>(resident_tiles));
  metrics_.map_points.Set(static_cast<double>(points));
  metrics_.map_cells.Set(static_cast<double>(cells));
  const bool on_host = memory_ == MapMemory::kHost;
  metrics_.map_bytes_host.Set(on_host ? static_cast<double>(bytes) : 0.0);
  metrics_.map_bytes_device.Set(on_host ? 0.0 : static_cast<double>(bytes));
}

MapMemory MapMemoryOf(absl::string_view engine_name) {
  return engine_name == "cpu" ? MapMemory::kHost : MapMemory::kDevice;
}

uint64_t MapMemoryBytes(const Limits& limits, const EngineInfo& engine) {
  if (limits.max_map_memory_bytes != 0) return limits.max_map_memory_bytes;
  const uint64_t total =
      engine.memory_bytes_total != 0 ? engine.memory_bytes_total : UsableMemoryBytes();
  return total / kMapMemoryDenominator * kMapMemoryNumerator;
}

double ComposedRatio(const MapSnapshot* snapshot) {
  constexpr double kDefaultComposedRatio = 5.0;
  const size_t tiles = snapshot == nullptr ? 0 : snapshot->tiles.MemoryBytes();
  if (tiles == 0) return kDefaultComposedRatio;
  return static_cast<double>(snapshot->resident->MemoryBytes()) / static_cast<double>(tiles);
}

size_t BytesInMap(const ResidentTile& tile, double composed_ratio) {
  return static_cast<size_t>((1.0 + composed_ratio) * static_cast<double>(tile.MemoryBytes()));
}

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
