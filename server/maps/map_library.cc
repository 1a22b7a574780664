// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_library.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/checksum/crc32c.h"
#include "server/errors/error_details.h"
#include "server/maps/composed_share.h"
#include "server/maps/map_memory.h"
#include "server/maps/tile_content.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

// Of all memory for maps: what a transaction may use where there is none left, so that the tiles of
// a small change are there at once.
constexpr size_t kShareOfTransaction = 16;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What the store is told: a tile that is sent again as it was is no change.
ManifestChange ManifestChangeOf(const TileCatalogue::Change& change, const TileCatalogue& base) {
  ManifestChange manifest;
  for (const auto& [id, tile] : change) {
    const MapTile* const before = base.Find(id);
    if (!tile.has_value()) {
      if (before != nullptr) manifest.emplace(id, std::nullopt);
    } else if (before == nullptr || before->digest != tile->digest) {
      manifest.emplace(id, StoredOf(*tile));
    }
  }
  return manifest;
}

absl::Status NamingTile(const absl::Status& status, absl::string_view tile_id) {
  return absl::Status(status.code(), absl::StrCat("tile '", absl::CEscape(tile_id.substr(0, 64)),
                                                  "': ", status.message()));
}

std::vector<std::string> ChangedTiles(const TileCatalogue::Change& change) {
  std::vector<std::string> ids;
  ids.reserve(change.size());
  for (const auto& [id, tile] : change) ids.push_back(id);
  return ids;
}

}  // namespace

StoredTile StoredOf(const MapTile& tile) {
  StoredTile stored;
  stored.digest = tile.digest;
  stored.points = tile.points;
  stored.bounds = tile.bounds;
  stored.crc32c = tile.crc32c;
  stored.revision = tile.revision;
  return stored;
}

MapTile NotResident(const StoredTile& stored) {
  MapTile tile;
  tile.bounds = stored.bounds;
  tile.points = stored.points;
  tile.revision = stored.revision;
  tile.digest = stored.digest;
  tile.crc32c = stored.crc32c;
  return tile;
}

absl::Status MapLibrary::FollowEngine() {
  const uint64_t takeovers = parts_.engine.takeovers();
  if (takeovers == followed_.load(std::memory_order_relaxed)) return absl::OkStatus();
  parts_.maps.set_memory(MapMemoryOf(parts_.engine.name()));
  parts_.max_bytes.store(MapMemoryBytes(*parts_.config.limits(), parts_.engine.Info()));
  for (const std::string& map : parts_.maps.Names()) {
    for (const MapView& view : parts_.maps.Views(map)) {
      TileCatalogue::Change change;
      view.snapshot->tiles.ForEach([&](const TileCatalogue::Tile& entry) {
        if (entry.second.resident == nullptr) return;
        MapTile tile = entry.second;
        tile.resident = nullptr;
        change.emplace_hint(change.end(), entry.first, std::move(tile));
      });
      if (absl::Status status = Refresh(view, change); !status.ok()) return status;
    }
  }
  followed_.store(takeovers, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MapLibrary::Announce() {
  auto stored = parts_.store.ListMaps();
  if (!stored.ok()) return stored.status();
  std::vector<std::string> names;
  for (const StoredMap& map : *stored) {
    if (absl::Status status = parts_.maps.Announce(map.name); !status.ok()) return status;
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
  auto map = parts_.store.GetMap(name);
  if (!map.ok()) return map.status();
  auto request = MapBuildRequestFromText(map->build);
  if (!request.ok()) return request.status();
  auto made = MakeMapBuild(*request);
  if (!made.ok()) return made.status();
  const auto build = std::make_shared<const MapBuild>(*std::move(made));

  MapView active;
  for (const StoredRevision& revision : map->revisions) {
    if (revision.revision != map->active_revision) continue;
    auto snapshot = LoadRevision(*map, revision, *build, nullptr);
    if (!snapshot.ok()) return snapshot.status();
    active = parts_.maps.Activate(*std::move(snapshot), FactsOf(name, revision.revision, build));
  }
  for (const StoredRevision& revision : map->revisions) {
    if (revision.state != RevisionState::kStaged) continue;
    auto snapshot = LoadRevision(*map, revision, *build, active.snapshot.get());
    if (!snapshot.ok()) return snapshot.status();
    parts_.maps.Stage(*std::move(snapshot), FactsOf(name, revision.revision, build),
                      revision.canary_vehicles);
  }
  if (!parts_.maps.Views(name).empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("map ", name, " is at revision ", map->active_revision, ", which is not there"));
}

absl::StatusOr<MapSnapshot> MapLibrary::LoadRevision(const StoredMap& map,
                                                     const StoredRevision& revision,
                                                     const MapBuild& build,
                                                     const MapSnapshot* known) {
  auto manifest = parts_.store.GetManifest(map.name, revision.revision);
  if (!manifest.ok()) return manifest.status();
  TileCatalogue::Change all;
  for (const auto& [id, stored] : *manifest) {
    const MapTile* const same = known == nullptr ? nullptr : known->tiles.Find(id);
    const bool shared = same != nullptr && same->digest == stored.digest;
    all.emplace_hint(all.end(), id, shared ? *same : NotResident(stored));
  }
  MapSnapshot snapshot;
  snapshot.name = map.name;
  snapshot.revision = revision.revision;
  snapshot.committed_unix_ns = revision.committed_unix_ns;
  snapshot.tiles = TileCatalogue().With(all);
  snapshot.residency = TileResidency::Of(snapshot.tiles);
  auto resident = Compose(snapshot.tiles, build, known);
  if (!resident.ok()) return resident.status();
  snapshot.resident = *std::move(resident);
  return snapshot;
}

absl::Status MapLibrary::Refresh(const MapView& view, const TileCatalogue::Change& change) {
  MapSnapshot snapshot = *view.snapshot;
  snapshot.tiles = snapshot.tiles.With(change);
  snapshot.residency = TileResidency::Of(
      snapshot.tiles, snapshot.residency == nullptr ? nullptr : snapshot.residency->layout());
  auto resident = Compose(snapshot.tiles, *view.facts->build, view.snapshot.get());
  if (!resident.ok()) return resident.status();
  snapshot.resident = *std::move(resident);
  parts_.maps.Refresh(std::move(snapshot));
  return absl::OkStatus();
}

size_t MapLibrary::TransactionBytes() const {
  const size_t used = parts_.maps.MemoryBytes();
  const size_t most = parts_.max_bytes.load();
  const size_t left = used < most ? most - used : 0;
  return std::max(left, most / kShareOfTransaction);
}

absl::StatusOr<PointCloud> MapLibrary::ReadPoints(const Sha256Digest& digest) {
  TileContentReader reader;
  absl::Status status = parts_.store.ReadContent(digest, [&](absl::string_view piece) {
    reader.Take(piece);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return reader.Finish();
}

absl::StatusOr<PointCloud> MapLibrary::ReadTile(absl::string_view tile_id,
                                                const Sha256Digest& digest) {
  auto points = ReadPoints(digest);
  if (!points.ok()) return NamingTile(points.status(), tile_id);
  return points;
}

absl::StatusOr<TilesOfRevision> MapLibrary::FindTiles(const std::string& map, uint64_t revision) {
  auto view = revision == 0 ? parts_.maps.Find(map) : parts_.maps.FindRevision(map, revision);
  if (view.ok()) return TilesOfRevision{view->snapshot->revision, view->snapshot->tiles};
  if (revision == 0) return view.status();
  auto manifest = parts_.store.GetManifest(map, revision);
  if (!manifest.ok()) return manifest.status();
  TileCatalogue::Change all;
  for (const auto& [id, stored] : *manifest) all.emplace_hint(all.end(), id, NotResident(stored));
  return TilesOfRevision{revision, TileCatalogue().With(all)};
}

void MapLibrary::NoteUpload(absl::string_view map, const Sha256Digest& digest) {
  uploads_.Add(map, digest, limits()->max_tiles_per_map);
}

absl::StatusOr<bool> MapLibrary::IsWithinReach(absl::string_view map, const Sha256Digest& digest,
                                               const MayUseMap& may_use) {
  if (uploads_.Has(map, digest)) return true;
  auto maps = parts_.store.MapsWithContent(digest);
  if (!maps.ok()) return maps.status();
  return std::any_of(maps->begin(), maps->end(), may_use);
}

absl::StatusOr<std::optional<MapTile>> MapLibrary::FindContent(absl::string_view tile_id,
                                                               const Sha256Digest& digest,
                                                               const MapBuild& build) {
  auto there = parts_.store.HasContent(absl::MakeConstSpan(&digest, 1));
  if (!there.ok()) return there.status();
  if (!there->front()) return std::nullopt;
  auto cloud = ReadPoints(digest);
  if (absl::IsDataLoss(cloud.status())) return std::nullopt;
  if (!cloud.ok()) return cloud.status();
  auto tile = BuildTile(*cloud, digest, Crc32c(EncodeOffsets(*cloud)), build);
  if (!tile.ok()) return NamingTile(tile.status(), tile_id);
  return *std::move(tile);
}

absl::StatusOr<MapTile> MapLibrary::LoadTile(absl::string_view tile_id, const StoredTile& stored,
                                             const MapBuild& build) {
  MapTile tile = NotResident(stored);
  tile.resident = FindMoments(stored.digest, stored.points, build);
  if (tile.resident != nullptr) return tile;
  auto cloud = ReadTile(tile_id, stored.digest);
  if (!cloud.ok()) return cloud.status();
  auto resident = BuildMoments(*cloud, stored.digest, build);
  if (!resident.ok()) return NamingTile(resident.status(), tile_id);
  tile.resident = *std::move(resident);
  return tile;
}

absl::StatusOr<MapTile> MapLibrary::BuildTile(const PointCloud& cloud_map,
                                              const Sha256Digest& digest, uint32_t crc32c,
                                              const MapBuild& build) {
  MapTile tile;
  tile.bounds = ComputeBounds(cloud_map);
  tile.points = tile.bounds.finite_points;
  tile.digest = digest;
  tile.crc32c = crc32c;
  tile.resident = FindMoments(digest, tile.points, build);
  if (tile.resident != nullptr) return tile;
  auto resident = BuildMoments(cloud_map, digest, build);
  if (!resident.ok()) return resident.status();
  tile.resident = *std::move(resident);
  return tile;
}

std::shared_ptr<const ResidentTile> MapLibrary::FindMoments(const Sha256Digest& digest,
                                                            uint64_t points,
                                                            const MapBuild& build) {
  if (parts_.moments == nullptr) return nullptr;
  return parts_.moments->Find(digest, points, build.statistics);
}

absl::StatusOr<std::shared_ptr<const ResidentTile>> MapLibrary::BuildMoments(
    const PointCloud& cloud_map, const Sha256Digest& digest, const MapBuild& build) {
  const auto start = Clock::now();
  auto resident = parts_.engine.BuildTile(cloud_map, build.statistics);
  parts_.metrics.stage_build_s.Observe(SecondsSince(start));
  if (resident.ok() && parts_.moments != nullptr) {
    parts_.moments->Keep(digest, build.statistics, *resident);
  }
  return resident;
}

absl::Status MapLibrary::MakeResident(absl::string_view map, const MapBuild& build,
                                      TileCatalogue::Change& change) {
  const auto active = parts_.maps.Find(map);
  const size_t most_bytes = TransactionBytes();
  const double share = ComposedShare(active.ok() ? active->snapshot.get() : nullptr);
  size_t bytes = 0;
  for (auto& [id, tile] : change) {
    if (!tile.has_value() || tile->resident != nullptr) continue;
    const MapTile* const same = active.ok() ? active->snapshot->tiles.Find(id) : nullptr;
    if (same != nullptr && same->digest == tile->digest && same->resident != nullptr) {
      tile->resident = same->resident;
      continue;
    }
    if (bytes >= most_bytes) continue;
    auto loaded = LoadTile(id, StoredOf(*tile), build);
    if (!loaded.ok()) return loaded.status();
    tile = *std::move(loaded);
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
  if (tiles.size() > limits->max_tiles_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat("the map must have at most ",
                                                     limits->max_tiles_per_map, " tiles (got ",
                                                     tiles.size(), ")"));
  }
  if (tiles.points() > limits->max_points_per_map) {
    return absl::ResourceExhaustedError(absl::StrCat("the map must have at most ",
                                                     limits->max_points_per_map, " points (got ",
                                                     tiles.points(), ")"));
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

absl::StatusOr<CommitReceipt> MapLibrary::Commit(const RevisionDraft& draft) {
  MapView base;
  if (draft.base_revision != 0) {
    auto found = parts_.maps.FindRevision(draft.map, draft.base_revision);
    if (!found.ok()) return found.status();
    base = *std::move(found);
  } else if (absl::Status status = parts_.maps.CheckRoom(draft.map); !status.ok()) {
    return status;
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
  if (absl::Status status = CheckSize(drafted); !status.ok()) return status;
  auto resident = Compose(drafted, *draft.build, base.snapshot.get());
  if (!resident.ok()) return resident.status();

  RevisionCommit commit;
  commit.map = draft.map;
  commit.base_revision = draft.base_revision;
  commit.build = ToText(draft.build->request);
  if (draft.frame.has_value()) commit.frame = ToText(*draft.frame);
  commit.change = ManifestChangeOf(draft.change, before);
  commit.comment = draft.comment;
  commit.request_id = draft.request_id;
  commit.stage = draft.stage;
  commit.canary_vehicles = draft.canary_vehicles;
  const auto start = Clock::now();
  auto committed = parts_.store.Commit(commit);
  receipt.store_s = SecondsSince(start);
  if (absl::IsAborted(committed.status())) {  // another server was first
    return WithReason(committed.status(), "REVISION_CONFLICT", {{"map", draft.map}});
  }
  if (!committed.ok()) return committed.status();
  // Through another server, since this request was looked for here.
  if (committed->repeated) return RepeatedReceipt(draft.map, committed->revision);

  const uint64_t revision = committed->revision.revision;
  TileCatalogue::Change change = draft.change;
  for (auto& [id, tile] : change) {
    if (!tile.has_value()) continue;
    const bool changed = commit.change.count(id) > 0;
    tile->revision = changed ? revision : before.Find(id)->revision;
  }
  MapSnapshot snapshot;
  snapshot.name = draft.map;
  snapshot.revision = revision;
  snapshot.committed_unix_ns = committed->revision.committed_unix_ns;
  snapshot.tiles = before.With(change);
  snapshot.residency = TileResidency::Of(snapshot.tiles);
  snapshot.resident = *std::move(resident);
  MapFacts facts = FactsOf(draft.map, revision, draft.build);
  MapEvent event;
  event.map = draft.map;
  event.revision = revision;
  event.changed_tiles = ChangedTiles(draft.change);
  if (draft.stage) {
    receipt.view = parts_.maps.Stage(std::move(snapshot), std::move(facts), draft.canary_vehicles);
    event.kind = MapEventKind::kStaged;
    // The frame is the map's, and so the active revision's too.
    if (base.snapshot != nullptr &&
        base.facts->frame.has_value() != receipt.view.facts->frame.has_value()) {
      static_cast<void>(parts_.maps.Activate(
          *base.snapshot, FactsOf(draft.map, draft.base_revision, base.facts->build)));
    }
  } else {
    receipt.view = parts_.maps.Activate(std::move(snapshot), std::move(facts));
    event.kind = draft.base_revision == 0 ? MapEventKind::kCreated : MapEventKind::kUpdated;
  }
  event.view = receipt.view;
  parts_.events.Tell(event);
  return receipt;
}

absl::StatusOr<std::optional<CommitReceipt>> MapLibrary::FindCommitted(
    absl::string_view map, absl::string_view request_id) {
  auto revision = parts_.store.FindRequest(map, request_id);
  if (!revision.ok()) return revision.status();
  if (!revision->has_value()) return std::nullopt;
  auto receipt = RepeatedReceipt(std::string(map), **revision);
  if (!receipt.ok()) return receipt.status();
  return *std::move(receipt);
}

absl::StatusOr<CommitReceipt> MapLibrary::RepeatedReceipt(const std::string& map,
                                                          const StoredRevision& stored) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  CommitReceipt receipt;
  receipt.repeated = true;
  receipt.added = stored.added;
  receipt.replaced = stored.replaced;
  receipt.removed = stored.removed;
  // Where it has been superseded, what the map is now.
  auto view = parts_.maps.FindRevision(map, stored.revision);
  if (!view.ok()) view = parts_.maps.Find(map);
  if (!view.ok()) return view.status();
  receipt.view = *std::move(view);
  return receipt;
}

absl::StatusOr<MapView> MapLibrary::ActivateElsewhere(const std::string& map, uint64_t revision) {
  const auto stored = parts_.store.GetMap(map);
  if (!stored.ok()) return stored.status();
  for (const StoredRevision& known : stored->revisions) {
    if (known.revision != revision) continue;
    if (known.state != RevisionState::kStaged && revision != stored->active_revision) break;
    const absl::Status loading = parts_.maps.Find(map).status();
    if (absl::IsUnavailable(loading)) return loading;
    return absl::UnavailableError(
        absl::StrCat("revision ", revision, " of map ", map, " is not in memory"));
  }
  // The store says why not, unless another server has staged it since.
  auto activated = parts_.store.Activate(map, revision);
  if (!activated.ok()) return activated.status();
  if (absl::Status status = Follow(map); !status.ok()) return status;
  return parts_.maps.FindRevision(map, revision);
}

absl::StatusOr<MapView> MapLibrary::Activate(const std::string& map, uint64_t revision) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  const auto before = parts_.maps.Find(map);
  if (before.ok() && before->snapshot->revision == revision) return before;
  const auto staged = parts_.maps.FindRevision(map, revision);
  if (!staged.ok()) return ActivateElsewhere(map, revision);
  auto activated = parts_.store.Activate(map, revision);
  if (!activated.ok()) return activated.status();
  MapEvent event;
  event.kind = before.ok() ? MapEventKind::kUpdated : MapEventKind::kCreated;
  event.map = map;
  event.revision = revision;
  staged->snapshot->tiles.ForEach([&](const TileCatalogue::Tile& entry) {
    if (entry.second.revision == revision) event.changed_tiles.push_back(entry.first);
  });
  if (before.ok()) {
    before->snapshot->tiles.ForEach([&](const TileCatalogue::Tile& entry) {
      if (staged->snapshot->tiles.Find(entry.first) == nullptr) {
        event.changed_tiles.push_back(entry.first);
      }
    });
  }
  event.view =
      parts_.maps.Activate(*staged->snapshot, FactsOf(map, revision, staged->facts->build));
  parts_.events.Tell(event);
  return event.view;
}

absl::StatusOr<StoredRevision> MapLibrary::Withdraw(const std::string& map, uint64_t revision) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  auto withdrawn = parts_.store.Withdraw(map, revision);
  if (!withdrawn.ok()) return withdrawn;
  parts_.maps.Unstage(map, revision);
  MapEvent event;
  event.kind = MapEventKind::kWithdrawn;
  event.map = map;
  event.revision = revision;
  parts_.events.Tell(event);
  return withdrawn;
}

absl::StatusOr<StoredRevision> MapLibrary::SetCanary(const std::string& map, uint64_t revision,
                                                     const std::vector<std::string>& vehicles) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  auto changed = parts_.store.SetCanary(map, revision, vehicles);
  if (!changed.ok()) return changed;
  parts_.maps.SetCanary(map, revision, vehicles);
  MapEvent event;
  event.kind = MapEventKind::kStaged;
  event.map = map;
  event.revision = revision;
  if (auto view = parts_.maps.FindRevision(map, revision); view.ok()) event.view = *view;
  parts_.events.Tell(event);
  return changed;
}

absl::StatusOr<uint64_t> MapLibrary::Delete(const std::string& map, uint64_t revision) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  auto deleted = parts_.store.DeleteMap(map, revision);
  if (!deleted.ok()) return deleted;
  parts_.maps.Remove(map);
  MapEvent event;
  event.kind = MapEventKind::kDeleted;
  event.map = map;
  event.revision = *deleted;
  parts_.events.Tell(event);
  return deleted;
}

absl::StatusOr<MapView> MapLibrary::Undelete(const std::string& map) {
  if (absl::Status status = Follow(map); !status.ok()) return status;
  if (parts_.maps.Held(map).has_value()) {
    return absl::AlreadyExistsError(absl::StrCat("there is a map \"", map, "\""));
  }
  if (absl::Status status = parts_.maps.Announce(map); !status.ok()) return status;
  if (const auto undeleted = parts_.store.UndeleteMap(map); !undeleted.ok()) {
    parts_.maps.Remove(map);
    return undeleted.status();
  }
  if (absl::Status status = FollowNew(map); !status.ok()) return status;
  const std::vector<MapView> views = parts_.maps.Views(map);
  if (views.empty()) return absl::NotFoundError(absl::StrCat("map ", map, " was deleted again"));
  return views.front();
}

}  // namespace voxloc::server
