// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_library.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/errors/error_details.h"
#include "server/maps/resident_maps.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {

void RecentUploads::Add(absl::string_view map, const Sha256Digest& digest, size_t max) {
  Upload upload(map, digest);
  const absl::MutexLock lock(&mutex_);
  const auto known = index_.find(upload);
  if (known != index_.end()) {
    by_age_.splice(by_age_.end(), by_age_, known->second);
    return;
  }
  by_age_.push_back(upload);
  index_.emplace(std::move(upload), std::prev(by_age_.end()));
  while (by_age_.size() > max) {
    index_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

bool RecentUploads::Has(absl::string_view map, const Sha256Digest& digest) const {
  const absl::MutexLock lock(&mutex_);
  return index_.contains(Upload(map, digest));
}

namespace {

using Clock = std::chrono::steady_clock;

// With no free map memory, a transaction may still use 1 / this of the total, so that the tiles of
// a small change are resident immediately.
constexpr size_t kTransactionDivisor = 16;

// The change that is stored: a tile that was sent again unchanged is left out.
ManifestChange ManifestChangeOf(const TileCatalogue::Change& change, const TileCatalogue& base) {
  ManifestChange manifest;
  for (const auto& [id, tile] : change) {
    const MapTile* const before = base.Find(id);
    if (!tile.has_value()) {
      if (before != nullptr) manifest.emplace(id, std::nullopt);
    } else if (before == nullptr || before->digest != tile->digest) {
      manifest.emplace(id, *tile);
    }
  }
  return manifest;
}

}  // namespace

absl::Status MapLibrary::SwitchEngine() {
  const uint64_t takeovers = parts_.engine.takeovers();
  if (takeovers == applied_takeovers_.load(std::memory_order_relaxed)) return absl::OkStatus();
  parts_.maps.set_memory(MapMemoryOf(parts_.engine.name()));
  parts_.max_bytes.store(MapMemoryBytes(*parts_.config.limits(), parts_.engine.Info()));
  for (const std::string& map : parts_.maps.Names()) {
    for (const MapView& view : parts_.maps.Views(map)) VOXLOC_TRY(DropTiles(view));
  }
  applied_takeovers_.store(takeovers, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status MapLibrary::DropTiles(const MapView& view) {
  TileCatalogue::Change change;
  view.snapshot->tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    if (entry.second.resident == nullptr) return;
    MapTile tile = entry.second;
    tile.resident = nullptr;
    change.emplace_hint(change.end(), entry.first, std::move(tile));
  });
  return UpdateResidency(view, change);
}

absl::Status MapLibrary::UpdateResidency(const MapView& view, const TileCatalogue::Change& change) {
  MapSnapshot snapshot = *view.snapshot;
  snapshot.tiles = snapshot.tiles.With(change);
  snapshot.residency = TileResidency::Create(
      snapshot.tiles, snapshot.residency == nullptr ? nullptr : snapshot.residency->layout());
  VOXLOC_ASSIGN_OR_RETURN(snapshot.resident,
                          Compose(snapshot.tiles, *view.facts->build, view.snapshot.get()));
  parts_.maps.UpdateResidency(std::move(snapshot));
  return absl::OkStatus();
}

size_t MapLibrary::TransactionBudgetBytes() const {
  const size_t used = parts_.maps.MemoryBytes();
  const size_t most = parts_.max_bytes.load();
  const size_t left = used < most ? most - used : 0;
  return std::max(left, most / kTransactionDivisor);
}

absl::StatusOr<TilesOfRevision> MapLibrary::FindTiles(const std::string& map, uint64_t revision) {
  auto view = revision == 0 ? parts_.maps.Find(map) : parts_.maps.FindRevision(map, revision);
  if (view.ok()) return TilesOfRevision{view->snapshot->revision, view->snapshot->tiles};
  if (revision == 0) return view.status();
  VOXLOC_ASSIGN_OR_RETURN(auto manifest, parts_.store.GetManifest(map, revision));
  TileCatalogue::Change all;
  for (const auto& [id, stored] : manifest) all.emplace_hint(all.end(), id, MapTile(stored));
  return TilesOfRevision{revision, TileCatalogue().With(all)};
}

void MapLibrary::RecordUpload(absl::string_view map, const Sha256Digest& digest) {
  uploads_.Add(map, digest, limits()->max_tiles_per_map);
}

absl::StatusOr<bool> MapLibrary::MayReuseContent(absl::string_view map, const Sha256Digest& digest,
                                                 const MayUseMap& may_use) {
  if (uploads_.Has(map, digest)) return true;
  VOXLOC_ASSIGN_OR_RETURN(auto maps, parts_.store.MapsWithContent(digest));
  return std::any_of(maps.begin(), maps.end(), may_use);
}

absl::Status MapLibrary::MakeResident(absl::string_view map, const MapBuild& build,
                                      TileCatalogue::Change& change) {
  const auto active = parts_.maps.Find(map);
  const size_t most_bytes = TransactionBudgetBytes();
  const double share = ComposedRatio(active.ok() ? active->snapshot.get() : nullptr);
  size_t bytes = 0;
  for (auto& [id, tile] : change) {
    if (!tile.has_value() || tile->resident != nullptr) continue;
    const MapTile* const same = active.ok() ? active->snapshot->tiles.Find(id) : nullptr;
    if (same != nullptr && same->digest == tile->digest && same->resident != nullptr) {
      tile->resident = same->resident;
      continue;
    }
    if (bytes >= most_bytes) continue;
    VOXLOC_ASSIGN_OR_RETURN(tile, tiles_.Load(id, *tile, build));
    bytes += BytesInMap(*tile->resident, share);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const ResidentMap>> MapLibrary::Compose(
    const TileCatalogue& tiles, const MapBuild& build, const MapSnapshot* previous) {
  std::vector<std::shared_ptr<const ResidentTile>> residents;
  residents.reserve(tiles.size());
  tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    if (entry.second.resident != nullptr) residents.push_back(entry.second.resident);
  });
  auto map = parts_.engine.Compose(residents, build.statistics,
                                   previous == nullptr ? nullptr : previous->resident.get());
  if (!map.ok() && engine_changed()) {
    return absl::UnavailableError(absl::StrCat(
        "another engine has taken over from one that failed: ", map.status().message()));
  }
  return map;
}

absl::Status MapLibrary::CheckSize(const TileCatalogue& tiles) const {
  const std::shared_ptr<const Limits> limits = parts_.config.limits();
  const auto too_many = [](uint64_t limit, absl::string_view what, uint64_t got) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the map must have at most ", limit, what, " (got ", got, ")"));
  };
  if (tiles.size() > limits->max_tiles_per_map) {
    return too_many(limits->max_tiles_per_map, " tiles", tiles.size());
  }
  if (tiles.points() > limits->max_points_per_map) {
    return too_many(limits->max_points_per_map, " points", tiles.points());
  }
  const Bounds& bounds = tiles.bounds();
  if (bounds.finite_points == 0) return absl::OkStatus();
  const double extent_m = (bounds.max - bounds.min).maxCoeff();
  if (!(extent_m <= limits->max_map_extent_m)) {
    return absl::ResourceExhaustedError(absl::StrCat("the extent of the map must be at most ",
                                                     limits->max_map_extent_m, " m (got ", extent_m,
                                                     " m)"));
  }
  return absl::OkStatus();
}

MapFacts MapLibrary::FactsOf(const std::string& map, uint64_t revision,
                             std::shared_ptr<const MapBuild> build) const {
  MapFacts facts;
  facts.build = std::move(build);
  facts.durable = parts_.store.durable();
  auto stored = parts_.store.GetMap(map);
  if (!stored.ok()) {
    // The revision is served without them.
    Log(LogLevel::kError, "revisions_not_listed",
        {{"map", map}, {"error", stored.status().ToString()}});
    return facts;
  }
  if (!stored->frame.empty()) {
    auto frame = MapFrameFromText(stored->frame);
    if (frame.ok()) {
      facts.frame = *std::move(frame);
    } else {
      Log(LogLevel::kError, "map_frame_not_read",
          {{"map", map}, {"error", frame.status().ToString()}});
    }
  }
  for (const StoredRevision& other : stored->revisions) {
    if (other.revision != revision && other.state != RevisionState::kWithdrawn) {
      facts.restorable_revisions.push_back(other.revision);
    }
  }
  return facts;
}

absl::StatusOr<CommitReceipt> MapLibrary::Commit(RevisionDraft draft) {
  RevisionCommit& commit = draft.stored;
  MapView base;
  if (commit.base_revision != 0) {
    VOXLOC_ASSIGN_OR_RETURN(base, parts_.maps.FindRevision(commit.map, commit.base_revision));
  } else {
    VOXLOC_TRY(parts_.maps.CheckCapacity(commit.map));
  }
  const TileCatalogue none;
  const TileCatalogue& before = base.snapshot == nullptr ? none : base.snapshot->tiles;
  CommitReceipt receipt;
  for (const auto& [id, tile] : draft.change) {
    const bool existed = before.Find(id) != nullptr;
    if (tile.has_value()) {
      ++(existed ? receipt.replaced : receipt.added);
    } else if (existed) {
      ++receipt.removed;
    }
  }
  const TileCatalogue drafted = before.With(draft.change);
  VOXLOC_TRY(CheckSize(drafted));
  VOXLOC_ASSIGN_OR_RETURN(auto resident, Compose(drafted, *draft.build, base.snapshot.get()));

  commit.build = ToText(draft.build->request);
  if (draft.frame.has_value()) commit.frame = ToText(*draft.frame);
  commit.change = ManifestChangeOf(draft.change, before);
  const auto start = Clock::now();
  auto committed = parts_.store.Commit(commit);
  receipt.store_s = ToSeconds(Clock::now() - start);
  if (absl::IsAborted(committed.status())) {  // another server was first
    return WithReason(committed.status(), "REVISION_CONFLICT", {{"map", commit.map}});
  }
  if (!committed.ok()) return committed.status();
  // Through another server, since this request was looked for here.
  if (committed->repeated) return RepeatedReceipt(commit.map, committed->revision);

  const uint64_t revision = committed->revision.revision;
  std::vector<std::string> changed;
  for (auto& [id, tile] : draft.change) {
    changed.push_back(id);
    if (!tile.has_value()) continue;
    tile->revision = commit.change.count(id) > 0 ? revision : before.Find(id)->revision;
  }
  MapSnapshot snapshot;
  snapshot.name = commit.map;
  snapshot.revision = revision;
  snapshot.committed_unix_ns = committed->revision.committed_unix_ns;
  snapshot.tiles = before.With(draft.change);
  snapshot.residency = TileResidency::Create(snapshot.tiles);
  snapshot.resident = std::move(resident);
  MapFacts facts = FactsOf(commit.map, revision, draft.build);
  MapEventKind kind = commit.base_revision == 0 ? MapEventKind::kCreated : MapEventKind::kUpdated;
  if (commit.stage) {
    kind = MapEventKind::kStaged;
    receipt.view = parts_.maps.Stage(std::move(snapshot), std::move(facts), commit.canary_vehicles);
    // The frame is the map's, and so the active revision's too.
    if (base.snapshot != nullptr &&
        base.facts->frame.has_value() != receipt.view.facts->frame.has_value()) {
      static_cast<void>(parts_.maps.Activate(
          *base.snapshot, FactsOf(commit.map, commit.base_revision, base.facts->build)));
    }
  } else {
    receipt.view = parts_.maps.Activate(std::move(snapshot), std::move(facts));
  }
  parts_.events.Notify({kind, commit.map, revision, receipt.view, std::move(changed)});
  return receipt;
}

absl::StatusOr<std::optional<CommitReceipt>> MapLibrary::FindCommitted(
    absl::string_view map, absl::string_view request_id) {
  VOXLOC_ASSIGN_OR_RETURN(auto revision, parts_.store.FindRequest(map, request_id));
  if (!revision.has_value()) return std::nullopt;
  return RepeatedReceipt(std::string(map), *revision);
}

absl::StatusOr<CommitReceipt> MapLibrary::RepeatedReceipt(const std::string& map,
                                                          const StoredRevision& stored) {
  VOXLOC_TRY(Sync(map));
  CommitReceipt receipt;
  receipt.repeated = true;
  receipt.added = stored.added;
  receipt.replaced = stored.replaced;
  receipt.removed = stored.removed;
  // If it has been superseded, the current revision.
  auto view = parts_.maps.FindRevision(map, stored.revision);
  if (!view.ok()) view = parts_.maps.Find(map);
  VOXLOC_ASSIGN_OR_RETURN(receipt.view, std::move(view));
  return receipt;
}

absl::StatusOr<MapView> MapLibrary::ActivateNonResident(const std::string& map, uint64_t revision) {
  VOXLOC_ASSIGN_OR_RETURN(const auto stored, parts_.store.GetMap(map));
  for (const StoredRevision& known : stored.revisions) {
    if (known.revision != revision) continue;
    if (known.state != RevisionState::kStaged && revision != stored.active_revision) break;
    const absl::Status loading = parts_.maps.Find(map).status();
    if (absl::IsUnavailable(loading)) return loading;
    return absl::UnavailableError(
        absl::StrCat("revision ", revision, " of map ", map, " is not in memory"));
  }
  // Returns the store's error, unless another server has staged the revision since.
  VOXLOC_TRY(parts_.store.Activate(map, revision).status());
  VOXLOC_TRY(Sync(map));
  return parts_.maps.FindRevision(map, revision);
}

absl::StatusOr<MapView> MapLibrary::Activate(const std::string& map, uint64_t revision) {
  VOXLOC_TRY(Sync(map));
  const auto before = parts_.maps.Find(map);
  if (before.ok() && before->snapshot->revision == revision) return before;
  const auto staged = parts_.maps.FindRevision(map, revision);
  if (!staged.ok()) return ActivateNonResident(map, revision);
  VOXLOC_TRY(parts_.store.Activate(map, revision).status());
  auto changed = ChangedTiles(before.ok() ? before->snapshot.get() : nullptr, *staged->snapshot);
  MapView view =
      parts_.maps.Activate(*staged->snapshot, FactsOf(map, revision, staged->facts->build));
  parts_.events.Notify({before.ok() ? MapEventKind::kUpdated : MapEventKind::kCreated, map,
                        revision, view, std::move(changed)});
  return view;
}

absl::StatusOr<StoredRevision> MapLibrary::Withdraw(const std::string& map, uint64_t revision) {
  VOXLOC_TRY(Sync(map));
  auto withdrawn = parts_.store.Withdraw(map, revision);
  if (!withdrawn.ok()) return withdrawn;
  parts_.maps.Unstage(map, revision);
  parts_.events.Notify({MapEventKind::kWithdrawn, map, revision, {}, {}});
  return withdrawn;
}

absl::StatusOr<StoredRevision> MapLibrary::SetCanary(const std::string& map, uint64_t revision,
                                                     const std::vector<std::string>& vehicles) {
  VOXLOC_TRY(Sync(map));
  auto changed = parts_.store.SetCanary(map, revision, vehicles);
  if (!changed.ok()) return changed;
  parts_.maps.SetCanary(map, revision, vehicles);
  const auto view = parts_.maps.FindRevision(map, revision);
  parts_.events.Notify({MapEventKind::kStaged, map, revision, view.ok() ? *view : MapView{}, {}});
  return changed;
}

absl::StatusOr<uint64_t> MapLibrary::Delete(const std::string& map, uint64_t revision) {
  VOXLOC_TRY(Sync(map));
  auto deleted = parts_.store.DeleteMap(map, revision);
  if (!deleted.ok()) return deleted;
  parts_.maps.Remove(map);
  parts_.events.Notify({MapEventKind::kDeleted, map, *deleted, {}, {}});
  return deleted;
}

absl::StatusOr<MapView> MapLibrary::Undelete(const std::string& map) {
  VOXLOC_TRY(Sync(map));
  if (parts_.maps.FindEntry(map).has_value()) {
    return absl::AlreadyExistsError(absl::StrCat("there is a map \"", map, "\""));
  }
  VOXLOC_TRY(parts_.maps.Register(map));
  if (const auto undeleted = parts_.store.UndeleteMap(map); !undeleted.ok()) {
    parts_.maps.Remove(map);
    return undeleted.status();
  }
  VOXLOC_TRY(SyncNew(map));
  const std::vector<MapView> views = parts_.maps.Views(map);
  if (views.empty()) return absl::NotFoundError(absl::StrCat("map ", map, " was deleted again"));
  return views.front();
}

}  // namespace voxloc::server
