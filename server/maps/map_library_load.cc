// SPDX-License-Identifier: Apache-2.0
//
// Loading from the store: at startup and, with a store shared by several servers, after changes.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/maps/map_library.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

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

bool IsStaged(const StoredMap& map, const MapView& view) {
  return std::any_of(map.revisions.begin(), map.revisions.end(), [&](const StoredRevision& other) {
    return other.state == RevisionState::kStaged && IsSame(view, other);
  });
}

const MapEntry::Staged* FindStaged(const MapEntry& entry, const StoredRevision& revision) {
  for (const MapEntry::Staged& staged : entry.staged) {
    if (IsSame(staged.view, revision)) return &staged;
  }
  return nullptr;
}

// Of any revision that is here.
MapView AnyView(const MapEntry& entry) {
  if (entry.active.snapshot != nullptr) return entry.active;
  return entry.staged.empty() ? MapView{} : entry.staged.front().view;
}

// Whether the changed tiles of the revision that follows this one are loaded at once. Those of a
// map that is not in memory are left to Residency.
bool IsInMemory(const MapSnapshot* known) {
  return known == nullptr || known->tiles.empty() || known->tiles.resident() > 0;
}

uint64_t RevisionOf(const MapView& view) {
  return view.snapshot == nullptr ? 0 : view.snapshot->revision;
}

// False: the map was deleted, and another one of the same name was created with other options.
bool HasSameBuild(const MapEntry& entry, const StoredMap& stored) {
  const MapView view = AnyView(entry);
  const auto request = MapBuildRequestFromText(stored.build);
  return view.facts != nullptr && request.ok() &&
         ToText(*request) == ToText(view.facts->build->request);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MapLibrary::Register() {
  VOXLOC_ASSIGN_OR_RETURN(auto stored, parts_.store.ListMaps());
  std::vector<std::string> names;
  for (const StoredMap& map : stored) {
    VOXLOC_TRY(parts_.maps.Register(map.name));
    names.push_back(map.name);
  }
  return names;
}

void MapLibrary::Load(const std::string& map) {
  const absl::Status status = TryLoad(map);
  if (status.ok()) return;
  if (absl::IsNotFound(parts_.store.GetMap(map).status())) {  // deleted in the meantime
    parts_.maps.Remove(map);
    return;
  }
  Log(LogLevel::kError, "map_not_loaded", {{"map", map}, {"error", status.ToString()}});
  parts_.maps.Fail(map, status);
}

absl::Status MapLibrary::TryLoad(const std::string& name) {
  VOXLOC_ASSIGN_OR_RETURN(auto map, parts_.store.GetMap(name));
  VOXLOC_ASSIGN_OR_RETURN(auto request, MapBuildRequestFromText(map.build));
  VOXLOC_ASSIGN_OR_RETURN(auto made, MakeMapBuild(request, profiles()));
  const auto build = std::make_shared<const MapBuild>(std::move(made));

  MapView active;
  if (const StoredRevision* const revision = ActiveOf(map); revision != nullptr) {
    VOXLOC_ASSIGN_OR_RETURN(auto snapshot,
                            LoadRevision(map, *revision, *build, nullptr, /*resident=*/false));
    active = parts_.maps.Activate(std::move(snapshot), FactsOf(name, revision->revision, build));
  }
  for (const StoredRevision& revision : map.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    VOXLOC_ASSIGN_OR_RETURN(auto snapshot, LoadRevision(map, revision, *build,
                                                        active.snapshot.get(), /*resident=*/false));
    parts_.maps.Stage(std::move(snapshot), FactsOf(name, revision.revision, build),
                      revision.canary_vehicles);
  }
  if (!parts_.maps.Views(name).empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("map ", name, " is at revision ", map.active_revision, ", which is not there"));
}

absl::StatusOr<MapSnapshot> MapLibrary::LoadRevision(const StoredMap& map,
                                                     const StoredRevision& revision,
                                                     const MapBuild& build,
                                                     const MapSnapshot* known, bool resident) {
  VOXLOC_ASSIGN_OR_RETURN(const auto manifest,
                          parts_.store.GetManifest(map.name, revision.revision));
  const TileCatalogue none;
  const TileCatalogue& before = known == nullptr ? none : known->tiles;
  TileCatalogue::Change change;
  for (const auto& [id, record] : manifest) {
    const MapTile* const same = before.Find(id);
    if (same == nullptr || same->digest != record.digest || same->revision != record.revision) {
      change.emplace_hint(change.end(), id, MapTile(record));
    }
  }
  before.ForEach([&](const TileCatalogue::Tile& entry) {
    if (manifest.count(entry.first) == 0) change.emplace(entry.first, std::nullopt);
  });
  if (resident) {
    // Damaged tiles are left to Residency, which reports them.
    const absl::Status loaded = MakeResident(map.name, build, change);
    if (!loaded.ok() && !absl::IsDataLoss(loaded)) return loaded;
  }
  MapSnapshot snapshot;
  snapshot.name = map.name;
  snapshot.revision = revision.revision;
  snapshot.committed_unix_ns = revision.committed_unix_ns;
  snapshot.tiles = before.With(change);
  snapshot.residency = TileResidency::Create(snapshot.tiles);
  VOXLOC_ASSIGN_OR_RETURN(snapshot.resident, Compose(snapshot.tiles, build, known));
  return snapshot;
}

bool MapLibrary::IsInSync(const StoredMap& stored) const {
  const std::optional<MapEntry> entry = parts_.maps.FindEntry(stored.name);
  if (!entry.has_value() || !entry->failure.ok()) return false;
  const StoredRevision* const active = ActiveOf(stored);
  const bool same_active =
      active == nullptr ? entry->active.snapshot == nullptr : IsSame(entry->active, *active);
  if (!same_active) return false;
  if (active != nullptr && !stored.frame.empty() && !entry->active.facts->frame.has_value()) {
    return false;
  }
  size_t staged = 0;
  for (const StoredRevision& revision : stored.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    const MapEntry::Staged* const known = FindStaged(*entry, revision);
    if (known == nullptr || known->vehicles != SortedVehicles(revision.canary_vehicles))
      return false;
    ++staged;
  }
  return staged == entry->staged.size();
}

absl::Status MapLibrary::Sync(const std::string& map) {
  if (!parts_.store.shared()) return absl::OkStatus();
  const auto stored = parts_.store.GetMap(map);
  std::optional<MapEntry> entry = parts_.maps.FindEntry(map);
  if (absl::IsNotFound(stored.status())) {
    if (entry.has_value()) Drop(map, RevisionOf(entry->active));
    return absl::OkStatus();
  }
  if (!stored.ok()) return stored.status();
  if (IsInSync(*stored)) return absl::OkStatus();
  if (!entry.has_value()) return SyncNew(map);
  if (AnyView(*entry).snapshot == nullptr) {
    // Its first load is still queued and will read the current state, or it has failed.
    return !entry->failure.ok() ? SyncNew(map) : absl::OkStatus();
  }
  const bool recreated = !entry->failure.ok() || !HasSameBuild(*entry, *stored) ||
                         (ActiveOf(*stored) == nullptr && entry->active.snapshot != nullptr);
  if (recreated) {
    Drop(map, RevisionOf(entry->active));
    return SyncNew(map);
  }
  VOXLOC_TRY(SwitchEngine());
  const std::shared_ptr<const MapBuild> build = AnyView(*entry).facts->build;
  VOXLOC_TRY(SyncActive(*stored, *entry, build));
  return SyncStaged(*stored, build);
}

void MapLibrary::Drop(const std::string& map, uint64_t revision) {
  parts_.maps.Remove(map);
  parts_.events.Notify({MapEventKind::kDeleted, map, revision, {}, {}});
  Log(LogLevel::kInfo, "map_deleted", {{"map", map}, {"revision", revision}});
}

absl::Status MapLibrary::SyncNew(const std::string& map) {
  if (!parts_.maps.FindEntry(map).has_value()) {
    VOXLOC_TRY(parts_.maps.Register(map));
  }
  absl::Status status = SwitchEngine();
  if (status.ok()) status = TryLoad(map);
  if (!status.ok()) {
    parts_.maps.Fail(map, status);
    return status;
  }
  const std::optional<MapEntry> entry = parts_.maps.FindEntry(map);
  if (!entry.has_value()) return absl::OkStatus();
  const bool active = entry->active.snapshot != nullptr;
  const MapView view = AnyView(*entry);
  const uint64_t revision = RevisionOf(view);
  parts_.events.Notify(
      {active ? MapEventKind::kCreated : MapEventKind::kStaged, map, revision, view, {}});
  Log(LogLevel::kInfo, "map_followed", {{"map", map}, {"revision", revision}, {"before", 0}});
  return absl::OkStatus();
}

absl::Status MapLibrary::SyncActive(const StoredMap& stored, const MapEntry& entry,
                                    const std::shared_ptr<const MapBuild>& build) {
  const StoredRevision* const active = ActiveOf(stored);
  if (active == nullptr) return absl::OkStatus();
  if (IsSame(entry.active, *active)) {
    if (stored.frame.empty() || entry.active.facts->frame.has_value()) return absl::OkStatus();
    // The map's frame came with a staged revision.
    static_cast<void>(parts_.maps.Activate(*entry.active.snapshot,
                                           FactsOf(stored.name, active->revision, build)));
    return absl::OkStatus();
  }
  const auto start = std::chrono::steady_clock::now();
  const MapEntry::Staged* const staged = FindStaged(entry, *active);
  const MapSnapshot* const known =
      staged != nullptr ? staged->view.snapshot.get() : entry.active.snapshot.get();
  VOXLOC_ASSIGN_OR_RETURN(auto loaded,
                          LoadRevision(stored, *active, *build, known, IsInMemory(known)));
  const MapSnapshot* const before = entry.active.snapshot.get();
  auto changed = ChangedTiles(before, loaded);
  MapView view =
      parts_.maps.Activate(std::move(loaded), FactsOf(stored.name, active->revision, build));
  parts_.events.Notify({before == nullptr ? MapEventKind::kCreated : MapEventKind::kUpdated,
                        stored.name, active->revision, std::move(view), std::move(changed)});
  Log(LogLevel::kInfo, "map_followed",
      {{"map", stored.name},
       {"revision", active->revision},
       {"before", RevisionOf(entry.active)},
       {"follow_s", ToSeconds(std::chrono::steady_clock::now() - start)}});
  return absl::OkStatus();
}

absl::Status MapLibrary::SyncStaged(const StoredMap& stored,
                                    const std::shared_ptr<const MapBuild>& build) {
  const std::optional<MapEntry> entry = parts_.maps.FindEntry(stored.name);
  if (!entry.has_value()) return absl::OkStatus();
  for (const MapEntry::Staged& staged : entry->staged) {
    if (IsStaged(stored, staged.view)) continue;
    const uint64_t revision = RevisionOf(staged.view);
    parts_.maps.Unstage(stored.name, revision);
    parts_.events.Notify({MapEventKind::kWithdrawn, stored.name, revision, {}, {}});
  }
  for (const StoredRevision& revision : stored.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    const MapEntry::Staged* const known = FindStaged(*entry, revision);
    MapView view;
    std::vector<std::string> changed;
    if (known != nullptr) {
      if (known->vehicles == SortedVehicles(revision.canary_vehicles)) continue;
      parts_.maps.SetCanary(stored.name, revision.revision, revision.canary_vehicles);
      view = known->view;
    } else {
      const MapSnapshot* const active = entry->active.snapshot.get();
      VOXLOC_ASSIGN_OR_RETURN(auto loaded,
                              LoadRevision(stored, revision, *build, active, IsInMemory(active)));
      changed = ChangedTiles(active, loaded);
      view = parts_.maps.Stage(std::move(loaded), FactsOf(stored.name, revision.revision, build),
                               revision.canary_vehicles);
    }
    parts_.events.Notify({MapEventKind::kStaged, stored.name, revision.revision, std::move(view),
                          std::move(changed)});
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
