// SPDX-License-Identifier: Apache-2.0
//
// How the library brings here what the store has: at the start and, where other servers write the
// store too, when it has changed.

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
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

// Of any revision that is here.
MapView AnyView(const HeldMap& held) {
  if (held.active.snapshot != nullptr) return held.active;
  return held.staged.empty() ? MapView{} : held.staged.front().view;
}

uint64_t RevisionOf(const MapView& view) {
  return view.snapshot == nullptr ? 0 : view.snapshot->revision;
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

absl::StatusOr<std::vector<std::string>> MapLibrary::Announce() {
  VOXLOC_ASSIGN_OR_RETURN(auto stored, parts_.store.ListMaps());
  std::vector<std::string> names;
  for (const StoredMap& map : stored) {
    VOXLOC_TRY(parts_.maps.Announce(map.name));
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
  VOXLOC_ASSIGN_OR_RETURN(auto made, MakeMapBuild(request));
  const auto build = std::make_shared<const MapBuild>(std::move(made));

  MapView active;
  for (const StoredRevision& revision : map.revisions) {
    if (revision.revision != map.active_revision) continue;
    VOXLOC_ASSIGN_OR_RETURN(auto snapshot,
                            LoadRevision(map, revision, *build, nullptr, /*resident=*/false));
    active = parts_.maps.Activate(std::move(snapshot), FactsOf(name, revision.revision, build));
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
    // One that is damaged is left to the residency, which says so.
    const absl::Status loaded = MakeResident(map.name, build, change);
    if (!loaded.ok() && !absl::IsDataLoss(loaded)) return loaded;
  }
  MapSnapshot snapshot;
  snapshot.name = map.name;
  snapshot.revision = revision.revision;
  snapshot.committed_unix_ns = revision.committed_unix_ns;
  snapshot.tiles = before.With(change);
  snapshot.residency = TileResidency::Of(snapshot.tiles);
  VOXLOC_ASSIGN_OR_RETURN(snapshot.resident, Compose(snapshot.tiles, build, known));
  return snapshot;
}

bool MapLibrary::IsFollowed(const StoredMap& stored) const {
  const std::optional<HeldMap> held = parts_.maps.Held(stored.name);
  if (!held.has_value() || !held->failure.ok()) return false;
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
    if (known == nullptr || known->vehicles != SortedVehicles(revision.canary_vehicles))
      return false;
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
    return !held->failure.ok() ? FollowNew(map) : absl::OkStatus();
  }
  const bool begins_anew = !held->failure.ok() || !IsBuiltAlike(*held, *stored) ||
                           (ActiveOf(*stored) == nullptr && held->active.snapshot != nullptr);
  if (begins_anew) {
    Drop(map, RevisionOf(held->active));
    return FollowNew(map);
  }
  VOXLOC_TRY(FollowEngine());
  const std::shared_ptr<const MapBuild> build = AnyView(*held).facts->build;
  VOXLOC_TRY(FollowActive(*stored, *held, build));
  return FollowStaged(*stored, build);
}

void MapLibrary::Drop(const std::string& map, uint64_t revision) {
  parts_.maps.Remove(map);
  parts_.events.Notify({MapEventKind::kDeleted, map, revision, {}, {}});
  Log(LogLevel::kInfo, "map_deleted", {{"map", map}, {"revision", revision}});
}

absl::Status MapLibrary::FollowNew(const std::string& map) {
  if (!parts_.maps.Held(map).has_value()) {
    VOXLOC_TRY(parts_.maps.Announce(map));
  }
  absl::Status status = FollowEngine();
  if (status.ok()) status = TryLoad(map);
  if (!status.ok()) {
    parts_.maps.Fail(map, status);
    return status;
  }
  const std::optional<HeldMap> held = parts_.maps.Held(map);
  if (!held.has_value()) return absl::OkStatus();
  const bool active = held->active.snapshot != nullptr;
  const MapView view = AnyView(*held);
  const uint64_t revision = RevisionOf(view);
  parts_.events.Notify(
      {active ? MapEventKind::kCreated : MapEventKind::kStaged, map, revision, view, {}});
  Log(LogLevel::kInfo, "map_followed", {{"map", map}, {"revision", revision}, {"before", 0}});
  return absl::OkStatus();
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
  VOXLOC_ASSIGN_OR_RETURN(auto loaded,
                          LoadRevision(stored, *active, *build, known, /*resident=*/true));
  const MapSnapshot* const before = held.active.snapshot.get();
  auto changed = ChangedTiles(before, loaded);
  MapView view =
      parts_.maps.Activate(std::move(loaded), FactsOf(stored.name, active->revision, build));
  parts_.events.Notify({before == nullptr ? MapEventKind::kCreated : MapEventKind::kUpdated,
                        stored.name, active->revision, std::move(view), std::move(changed)});
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
  for (const HeldMap::Staged& staged : held->staged) {
    if (StagedOf(stored, staged.view) != nullptr) continue;
    const uint64_t revision = RevisionOf(staged.view);
    parts_.maps.Unstage(stored.name, revision);
    parts_.events.Notify({MapEventKind::kWithdrawn, stored.name, revision, {}, {}});
  }
  for (const StoredRevision& revision : stored.revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    const HeldMap::Staged* const known = FindStaged(*held, revision);
    MapView view;
    std::vector<std::string> changed;
    if (known != nullptr) {
      if (known->vehicles == SortedVehicles(revision.canary_vehicles)) continue;
      parts_.maps.SetCanary(stored.name, revision.revision, revision.canary_vehicles);
      view = known->view;
    } else {
      const MapSnapshot* const active = held->active.snapshot.get();
      VOXLOC_ASSIGN_OR_RETURN(auto loaded,
                              LoadRevision(stored, revision, *build, active, /*resident=*/true));
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
