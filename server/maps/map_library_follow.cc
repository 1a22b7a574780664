// SPDX-License-Identifier: Apache-2.0
//
// How the library follows a store that other servers write too.

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/maps/map_library.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

// The same number may stand for another revision where the store was restored from a backup.
bool IsSame(const MapView& view, const StoredRevision& stored) {
  return view.snapshot != nullptr && view.snapshot->revision == stored.revision &&
         view.snapshot->committed_unix_ns == stored.committed_unix_ns;
}

const StoredRevision* ActiveOf(const StoredMap& map) {
  for (const StoredRevision& revision : map.revisions) {
    if (revision.revision == map.active_revision) return &revision;
  }
  return nullptr;
}

const StoredRevision* StagedOf(const StoredMap& map, const MapView& view) {
  for (const StoredRevision& revision : map.revisions) {
    if (revision.state == RevisionState::kStaged && IsSame(view, revision)) return &revision;
  }
  return nullptr;
}

const HeldMap::Staged* FindStaged(const HeldMap& held, const StoredRevision& revision) {
  for (const HeldMap::Staged& staged : held.staged) {
    if (IsSame(staged.view, revision)) return &staged;
  }
  return nullptr;
}

bool HasVehicles(const HeldMap::Staged& staged, std::vector<std::string> vehicles) {
  std::sort(vehicles.begin(), vehicles.end());
  vehicles.erase(std::unique(vehicles.begin(), vehicles.end()), vehicles.end());
  return staged.vehicles == vehicles;
}

// Of any revision that is here.
MapView AnyView(const HeldMap& held) {
  if (held.active.snapshot != nullptr) return held.active;
  return held.staged.empty() ? MapView{} : held.staged.front().view;
}

uint64_t RevisionOf(const MapView& view) {
  return view.snapshot == nullptr ? 0 : view.snapshot->revision;
}

// `before` may be null: there was none.
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

// Whether the map here is the one of the store: one of this name may have been deleted, and another
// one begun.
bool IsBuiltAlike(const HeldMap& held, const StoredMap& stored) {
  const MapView view = AnyView(held);
  const auto request = MapBuildRequestFromText(stored.build);
  return view.facts != nullptr && request.ok() &&
         ToText(*request) == ToText(view.facts->build->request);
}

}  // namespace

bool MapLibrary::IsFollowed(const StoredMap& stored) const {
  const std::optional<HeldMap> held = parts_.maps.Held(stored.name);
  if (!held.has_value() || held->failed) return false;
  const StoredRevision* const active = ActiveOf(stored);
  const bool same_active =
      active == nullptr ? held->active.snapshot == nullptr : IsSame(held->active, *active);
  if (!same_active) return false;
  if (active != nullptr && !stored.frame.empty() && !held->active.facts->frame.has_value()) {
    return false;
  }
  size_t staged = 0;
  for (const StoredRevision& revision : stored.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    const HeldMap::Staged* const known = FindStaged(*held, revision);
    if (known == nullptr || !HasVehicles(*known, revision.canary_vehicles)) return false;
    ++staged;
  }
  return staged == held->staged.size();
}

absl::Status MapLibrary::Follow(const std::string& map) {
  if (!parts_.store.shared()) return absl::OkStatus();
  const auto stored = parts_.store.GetMap(map);
  std::optional<HeldMap> held = parts_.maps.Held(map);
  if (absl::IsNotFound(stored.status())) {
    if (held.has_value()) Drop(map, RevisionOf(held->active));
    return absl::OkStatus();
  }
  if (!stored.ok()) return stored.status();
  if (IsFollowed(*stored)) return absl::OkStatus();
  if (!held.has_value()) return FollowNew(map);
  if (AnyView(*held).snapshot == nullptr) {
    // Its first load waits in the queue, and reads what there is then; or it has failed.
    return held->failed ? FollowNew(map) : absl::OkStatus();
  }
  const bool begins_anew = held->failed || !IsBuiltAlike(*held, *stored) ||
                           (ActiveOf(*stored) == nullptr && held->active.snapshot != nullptr);
  if (begins_anew) {
    Drop(map, RevisionOf(held->active));
    return FollowNew(map);
  }
  if (absl::Status status = FollowEngine(); !status.ok()) return status;
  const std::shared_ptr<const MapBuild> build = AnyView(*held).facts->build;
  if (absl::Status status = FollowActive(*stored, *held, build); !status.ok()) return status;
  return FollowStaged(*stored, build);
}

void MapLibrary::Drop(const std::string& map, uint64_t revision) {
  parts_.maps.Remove(map);
  MapEvent event;
  event.kind = MapEventKind::kDeleted;
  event.map = map;
  event.revision = revision;
  parts_.events.Tell(event);
  Log(LogLevel::kInfo, "map_deleted", {{"map", map}, {"revision", revision}});
}

absl::Status MapLibrary::FollowNew(const std::string& map) {
  if (!parts_.maps.Held(map).has_value()) {
    if (absl::Status status = parts_.maps.Announce(map); !status.ok()) return status;
  }
  absl::Status status = FollowEngine();
  if (status.ok()) status = TryLoad(map);
  if (!status.ok()) {
    parts_.maps.Fail(map, status);
    return status;
  }
  const std::optional<HeldMap> held = parts_.maps.Held(map);
  if (!held.has_value()) return absl::OkStatus();
  MapEvent event;
  event.kind = held->active.snapshot == nullptr ? MapEventKind::kStaged : MapEventKind::kCreated;
  event.map = map;
  event.view = AnyView(*held);
  event.revision = RevisionOf(event.view);
  parts_.events.Tell(event);
  Log(LogLevel::kInfo, "map_followed", {{"map", map}, {"revision", event.revision}, {"before", 0}});
  return absl::OkStatus();
}

absl::StatusOr<MapSnapshot> MapLibrary::LoadFollowed(const StoredMap& map,
                                                     const StoredRevision& revision,
                                                     const MapBuild& build,
                                                     const MapSnapshot* known) {
  const auto manifest = parts_.store.GetManifest(map.name, revision.revision);
  if (!manifest.ok()) return manifest.status();
  const TileCatalogue none;
  const TileCatalogue& before = known == nullptr ? none : known->tiles;
  TileCatalogue::Change change;
  for (const auto& [id, stored] : *manifest) {
    const MapTile* const same = before.Find(id);
    if (same == nullptr || same->digest != stored.digest || same->revision != stored.revision) {
      change.emplace_hint(change.end(), id, NotResident(stored));
    }
  }
  before.ForEach([&](const TileCatalogue::Tile& entry) {
    if (manifest->count(entry.first) == 0) change.emplace(entry.first, std::nullopt);
  });
  // One that is damaged is left to the residency, which says so.
  const absl::Status loaded = MakeResident(map.name, build, change);
  if (!loaded.ok() && !absl::IsDataLoss(loaded)) return loaded;
  MapSnapshot snapshot;
  snapshot.name = map.name;
  snapshot.revision = revision.revision;
  snapshot.committed_unix_ns = revision.committed_unix_ns;
  snapshot.tiles = before.With(change);
  snapshot.residency = TileResidency::Of(snapshot.tiles);
  auto resident = Compose(snapshot.tiles, build, known);
  if (!resident.ok()) return resident.status();
  snapshot.resident = *std::move(resident);
  return snapshot;
}

absl::Status MapLibrary::FollowActive(const StoredMap& stored, const HeldMap& held,
                                      const std::shared_ptr<const MapBuild>& build) {
  const StoredRevision* const active = ActiveOf(stored);
  if (active == nullptr) return absl::OkStatus();
  if (IsSame(held.active, *active)) {
    if (stored.frame.empty() || held.active.facts->frame.has_value()) return absl::OkStatus();
    // The map's frame came with a staged revision.
    static_cast<void>(
        parts_.maps.Activate(*held.active.snapshot, FactsOf(stored.name, active->revision, build)));
    return absl::OkStatus();
  }
  const auto start = std::chrono::steady_clock::now();
  const HeldMap::Staged* const staged = FindStaged(held, *active);
  const MapSnapshot* const known =
      staged != nullptr ? staged->view.snapshot.get() : held.active.snapshot.get();
  auto followed = LoadFollowed(stored, *active, *build, known);
  if (!followed.ok()) return followed.status();
  MapEvent event;
  event.kind = held.active.snapshot == nullptr ? MapEventKind::kCreated : MapEventKind::kUpdated;
  event.map = stored.name;
  event.revision = active->revision;
  event.changed_tiles = ChangedTiles(held.active.snapshot.get(), *followed);
  event.view =
      parts_.maps.Activate(*std::move(followed), FactsOf(stored.name, active->revision, build));
  parts_.events.Tell(event);
  const std::chrono::duration<double> follow_s = std::chrono::steady_clock::now() - start;
  Log(LogLevel::kInfo, "map_followed",
      {{"map", stored.name},
       {"revision", active->revision},
       {"before", RevisionOf(held.active)},
       {"follow_s", follow_s.count()}});
  return absl::OkStatus();
}

absl::Status MapLibrary::FollowStaged(const StoredMap& stored,
                                      const std::shared_ptr<const MapBuild>& build) {
  const std::optional<HeldMap> held = parts_.maps.Held(stored.name);
  if (!held.has_value()) return absl::OkStatus();
  MapEvent event;
  event.map = stored.name;
  for (const HeldMap::Staged& staged : held->staged) {
    if (StagedOf(stored, staged.view) != nullptr) continue;
    event.kind = MapEventKind::kWithdrawn;
    event.revision = RevisionOf(staged.view);
    event.view = MapView{};
    parts_.maps.Unstage(stored.name, event.revision);
    parts_.events.Tell(event);
  }
  for (const StoredRevision& revision : stored.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    const HeldMap::Staged* const known = FindStaged(*held, revision);
    event.kind = MapEventKind::kStaged;
    event.revision = revision.revision;
    if (known != nullptr) {
      if (HasVehicles(*known, revision.canary_vehicles)) continue;
      parts_.maps.SetCanary(stored.name, revision.revision, revision.canary_vehicles);
      event.view = known->view;
    } else {
      auto followed = LoadFollowed(stored, revision, *build, held->active.snapshot.get());
      if (!followed.ok()) return followed.status();
      event.changed_tiles = ChangedTiles(held->active.snapshot.get(), *followed);
      event.view =
          parts_.maps.Stage(*std::move(followed), FactsOf(stored.name, revision.revision, build),
                            revision.canary_vehicles);
    }
    parts_.events.Tell(event);
    event.changed_tiles.clear();
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
