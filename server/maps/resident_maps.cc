// SPDX-License-Identifier: Apache-2.0

#include "server/maps/resident_maps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/map/map_name.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// After which a client asks again for a map that is being loaded.
constexpr double kLoadingRetryS = 1.0;

absl::flat_hash_set<std::string> SetOf(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

ResidentMaps::ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping,
                           bool names_in_errors)
    : names_in_errors_(names_in_errors),
      metrics_(metrics),
      mapping_(mapping),
      max_maps_(max_maps) {}

absl::StatusOr<MapView> ResidentMaps::Find(absl::string_view name,
                                           absl::string_view vehicle) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return NoSuchMap(name);
  const Map& map = it->second;
  if (map.loading) return NotOpen(it->first, map);
  if (!vehicle.empty()) {
    // The newest, where the vehicle tries several.
    for (auto staged = map.staged.rbegin(); staged != map.staged.rend(); ++staged) {
      if (staged->vehicles.contains(vehicle)) return ViewOf(staged->revision);
    }
  }
  if (map.active != nullptr) return ViewOf(map.active);
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("map ", name, " has no active revision; revision ",
                                     map.staged.back().revision->snapshot.revision, " is staged")),
                    "MAP_NOT_ACTIVE", {{"map", std::string(name)}});
}

absl::Status ResidentMaps::NotOpen(const std::string& name, const Map& map) {
  if (!map.failure.ok()) {
    return WithReason(absl::UnavailableError(absl::StrCat(
                          "map ", name, " could not be loaded: ", map.failure.message())),
                      "MAP_NOT_LOADED", {{"map", name}});
  }
  return WithRetryAfter(
      WithReason(absl::UnavailableError(
                     absl::StrCat("map ", name, " is being loaded (", LoadedPercent(map), " %)")),
                 "MAP_LOADING", {{"map", name}}),
      kLoadingRetryS);
}

int ResidentMaps::LoadedPercent(const Map& map) {
  if (map.active == nullptr || map.active->snapshot.tiles.empty()) return 0;
  const TileCatalogue& tiles = map.active->snapshot.tiles;
  return static_cast<int>(100 * tiles.resident() / tiles.size());
}

absl::StatusOr<MapView> ResidentMaps::FindAtLeast(absl::string_view name, uint64_t min_revision,
                                                  absl::string_view vehicle) const {
  if (absl::Status status = ValidateMapName(name); !status.ok()) return status;
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
  const auto it = maps_.find(name);
  if (it == maps_.end()) return NoSuchMap(name);
  const Map& map = it->second;
  if (map.active != nullptr && map.active->snapshot.revision == revision) {
    return ViewOf(map.active);
  }
  for (const Staged& staged : map.staged) {
    if (staged.revision->snapshot.revision == revision) return ViewOf(staged.revision);
  }
  return absl::NotFoundError(
      absl::StrCat("revision ", revision, " of map ", name, " is not in memory"));
}

std::vector<MapView> ResidentMaps::List() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<MapView> views;
  views.reserve(maps_.size());
  for (const auto& [name, map] : maps_) {
    if (map.active != nullptr && !map.loading) views.push_back(ViewOf(map.active));
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
  const absl::MutexLock lock(&mutex_);
  std::vector<MapView> views;
  const auto it = maps_.find(name);
  if (it == maps_.end()) return views;
  if (it->second.active != nullptr) views.push_back(ViewOf(it->second.active));
  for (const Staged& staged : it->second.staged) views.push_back(ViewOf(staged.revision));
  return views;
}

std::optional<HeldMap> ResidentMaps::Held(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return std::nullopt;
  const Map& map = it->second;
  HeldMap held;
  if (map.active != nullptr) held.active = ViewOf(map.active);
  for (const Staged& staged : map.staged) {
    std::vector<std::string> vehicles(staged.vehicles.begin(), staged.vehicles.end());
    std::sort(vehicles.begin(), vehicles.end());
    held.staged.push_back({ViewOf(staged.revision), std::move(vehicles)});
  }
  held.loading = map.loading;
  held.failed = !map.failure.ok();
  return held;
}

size_t ResidentMaps::MemoryBytes() const {
  const absl::MutexLock lock(&mutex_);
  size_t bytes = 0;
  for (const auto& [name, map] : maps_) {
    if (map.active != nullptr) bytes += map.active->memory_bytes;
  }
  return bytes;
}

size_t ResidentMaps::size() const {
  const absl::MutexLock lock(&mutex_);
  return maps_.size();
}

absl::Status ResidentMaps::HasRoom(absl::string_view name) const {
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

absl::Status ResidentMaps::CheckRoom(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  return HasRoom(name);
}

absl::Status ResidentMaps::Announce(const std::string& name) {
  const absl::MutexLock lock(&mutex_);
  if (absl::Status status = HasRoom(name); !status.ok()) return status;
  maps_[name].loading = true;
  return absl::OkStatus();
}

bool ResidentMaps::IsLoading(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  return it != maps_.end() && it->second.loading;
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
  if (const auto it = maps_.find(name); it != maps_.end()) it->second.failure = reason;
}

void ResidentMaps::Open(absl::string_view name) {
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  it->second.loading = false;
  it->second.failure = absl::OkStatus();
}

void ResidentMaps::Refresh(MapSnapshot snapshot) {
  RevisionPtr replaced;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(snapshot.name);
  if (it == maps_.end()) return;
  Map& map = it->second;
  RevisionPtr* at = nullptr;
  if (map.active != nullptr && map.active->snapshot.revision == snapshot.revision) {
    at = &map.active;
  }
  for (Staged& staged : map.staged) {
    if (staged.revision->snapshot.revision == snapshot.revision) at = &staged.revision;
  }
  if (at == nullptr) return;
  replaced = *at;
  *at = FreedOnQueue(std::move(snapshot), replaced->facts);
  UpdateMetrics();
}

MapView ResidentMaps::Activate(MapSnapshot snapshot, MapFacts facts) {
  const RevisionPtr revision = FreedOnQueue(std::move(snapshot), std::move(facts));
  RevisionPtr replaced;  // released after the lock
  RevisionPtr unstaged;
  const absl::MutexLock lock(&mutex_);
  Map& map = maps_[revision->snapshot.name];
  replaced = std::exchange(map.active, revision);
  const auto staged = std::find_if(map.staged.begin(), map.staged.end(), [&](const Staged& s) {
    return s.revision->snapshot.revision == revision->snapshot.revision;
  });
  if (staged != map.staged.end()) {
    unstaged = std::move(staged->revision);
    map.staged.erase(staged);
  }
  UpdateMetrics();
  return ViewOf(revision);
}

MapView ResidentMaps::Stage(MapSnapshot snapshot, MapFacts facts,
                            const std::vector<std::string>& vehicles) {
  const RevisionPtr revision = FreedOnQueue(std::move(snapshot), std::move(facts));
  const absl::MutexLock lock(&mutex_);
  Map& map = maps_[revision->snapshot.name];
  map.staged.push_back({revision, SetOf(vehicles)});
  UpdateMetrics();
  return ViewOf(revision);
}

void ResidentMaps::SetCanary(absl::string_view name, uint64_t revision,
                             const std::vector<std::string>& vehicles) {
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  for (Staged& staged : it->second.staged) {
    if (staged.revision->snapshot.revision == revision) staged.vehicles = SetOf(vehicles);
  }
}

void ResidentMaps::Unstage(absl::string_view name, uint64_t revision) {
  RevisionPtr unstaged;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  Map& map = it->second;
  const auto staged = std::find_if(map.staged.begin(), map.staged.end(), [&](const Staged& s) {
    return s.revision->snapshot.revision == revision;
  });
  if (staged == map.staged.end()) return;
  unstaged = std::move(staged->revision);
  map.staged.erase(staged);
  if (map.active == nullptr && map.staged.empty()) maps_.erase(it);
  UpdateMetrics();
}

void ResidentMaps::Remove(absl::string_view name) {
  Map removed;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return;
  removed = std::move(it->second);
  maps_.erase(it);
  UpdateMetrics();
}

MapView ResidentMaps::ViewOf(const RevisionPtr& revision) {
  MapView view;
  view.snapshot = std::shared_ptr<const MapSnapshot>(revision, &revision->snapshot);
  view.facts = std::shared_ptr<const MapFacts>(revision, &revision->facts);
  return view;
}

ResidentMaps::RevisionPtr ResidentMaps::FreedOnQueue(MapSnapshot snapshot, MapFacts facts) const {
  auto revision = std::make_unique<Revision>();
  revision->snapshot = std::move(snapshot);
  revision->facts = std::move(facts);
  revision->memory_bytes =
      revision->snapshot.tiles.MemoryBytes() + revision->snapshot.resident->MemoryBytes();
  WorkQueue* const queue = &mapping_;
  return {revision.release(), [queue](const Revision* released) {
            // A task that is refused, or dropped by a queue that stops, frees it as it goes.
            RevisionPtr last(released);
            const bool posted = queue->Post([last = std::move(last)] {});
            static_cast<void>(posted);
          }};
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
  size_t tiles = 0;
  size_t resident_tiles = 0;
  size_t points = 0;
  size_t cells = 0;
  size_t bytes = 0;
  for (const auto& [name, map] : maps_) {
    if (map.active == nullptr) continue;
    tiles += map.active->snapshot.tiles.size();
    resident_tiles += map.active->snapshot.tiles.resident();
    points += map.active->snapshot.tiles.points();
    bytes += map.active->memory_bytes;
    const ResidentMap& resident = *map.active->snapshot.resident;
    for (size_t i = 0; i < resident.statistics().size(); ++i) cells += resident.cells(i);
  }
  metrics_.maps.Set(static_cast<double>(maps_.size()));
  metrics_.map_tiles.Set(static_cast<double>(tiles));
  metrics_.map_tiles_resident.Set(static_cast<double>(resident_tiles));
  metrics_.map_points.Set(static_cast<double>(points));
  metrics_.map_cells.Set(static_cast<double>(cells));
  const bool on_host = memory_ == MapMemory::kHost;
  metrics_.map_bytes_host.Set(on_host ? static_cast<double>(bytes) : 0.0);
  metrics_.map_bytes_device.Set(on_host ? 0.0 : static_cast<double>(bytes));
}

}  // namespace voxloc::server
