// SPDX-License-Identifier: Apache-2.0

#include "server/maps/resident_maps.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/map/map_name.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

size_t MemoryBytesOf(const MapSnapshot& snapshot) {
  size_t bytes = snapshot.resident->MemoryBytes();
  for (const auto& [id, tile] : snapshot.tiles) bytes += tile.resident->MemoryBytes();
  return bytes;
}

}  // namespace

ResidentMaps::ResidentMaps(size_t max_maps, const Metrics& metrics, WorkQueue& mapping)
    : max_maps_(max_maps), metrics_(metrics), mapping_(mapping) {}

absl::StatusOr<MapView> ResidentMaps::Find(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  const auto revision = Get(name);
  if (!revision.ok()) return revision.status();
  return ViewOf(*revision);
}

absl::StatusOr<MapView> ResidentMaps::FindAtLeast(absl::string_view name,
                                                  uint64_t min_revision) const {
  if (absl::Status status = ValidateMapName(name); !status.ok()) return status;
  auto view = Find(name);
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

std::vector<MapView> ResidentMaps::List() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<MapView> views;
  views.reserve(maps_.size());
  for (const auto& [name, revision] : maps_) views.push_back(ViewOf(revision));
  return views;
}

size_t ResidentMaps::size() const {
  const absl::MutexLock lock(&mutex_);
  return maps_.size();
}

absl::StatusOr<MapView> ResidentMaps::Publish(MapSnapshot snapshot,
                                              std::shared_ptr<const MapBuild> build,
                                              TileChecksums checksums, uint64_t base_revision) {
  snapshot.revision = base_revision + 1;
  snapshot.committed_unix_ns = absl::GetCurrentTimeNanos();
  for (auto& [id, tile] : snapshot.tiles) {
    if (tile.revision == 0) tile.revision = snapshot.revision;
  }
  auto built = std::make_unique<Revision>();
  built->facts.build = std::move(build);
  built->facts.checksums = std::move(checksums);
  built->facts.bounds = snapshot.bounds();
  built->facts.points = snapshot.points();
  built->facts.memory_bytes = MemoryBytesOf(snapshot);
  built->snapshot = std::move(snapshot);
  const RevisionPtr revision = FreedOnQueue(std::move(built));
  const std::string& name = revision->snapshot.name;

  RevisionPtr replaced;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  const uint64_t current = it == maps_.end() ? 0 : it->second->snapshot.revision;
  if (current != base_revision) {
    return WithReason(
        absl::AbortedError(absl::StrCat("map \"", name, "\" is at revision ", current, ", not at ",
                                        base_revision, " on which the update is based")),
        "REVISION_CONFLICT", {{"map", name}, {"revision", absl::StrCat(current)}});
  }
  if (it != maps_.end()) {
    replaced = std::exchange(it->second, revision);
  } else if (maps_.size() < max_maps_) {
    maps_.emplace(name, revision);
  } else {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the server holds ", maps_.size(), " maps, its limit; delete one first")),
                      "TOO_MANY_MAPS", {{"limit", absl::StrCat(max_maps_)}});
  }
  UpdateMetrics();
  return ViewOf(revision);
}

absl::StatusOr<uint64_t> ResidentMaps::Remove(absl::string_view name, uint64_t revision) {
  RevisionPtr removed;  // released after the lock
  const absl::MutexLock lock(&mutex_);
  auto found = Get(name);
  if (!found.ok()) return found.status();
  removed = *std::move(found);
  const uint64_t current = removed->snapshot.revision;
  if (revision != 0 && revision != current) {
    return WithReason(
        absl::AbortedError(absl::StrCat("map ", removed->snapshot.name, " is at revision ", current,
                                        ", not ", revision)),
        "REVISION_CONFLICT",
        {{"map", removed->snapshot.name}, {"revision", absl::StrCat(removed->snapshot.revision)}});
  }
  maps_.erase(removed->snapshot.name);
  UpdateMetrics();
  return current;
}

MapView ResidentMaps::ViewOf(const RevisionPtr& revision) {
  MapView view;
  view.snapshot = std::shared_ptr<const MapSnapshot>(revision, &revision->snapshot);
  view.facts = std::shared_ptr<const MapFacts>(revision, &revision->facts);
  return view;
}

ResidentMaps::RevisionPtr ResidentMaps::FreedOnQueue(
    std::unique_ptr<const Revision> revision) const {
  WorkQueue* const queue = &mapping_;
  return {revision.release(), [queue](const Revision* released) {
            // A task that is refused, or dropped by a queue that stops, frees it as it goes.
            RevisionPtr last(released);
            const bool posted = queue->Post([last = std::move(last)] {});
            static_cast<void>(posted);
          }};
}

absl::StatusOr<ResidentMaps::RevisionPtr> ResidentMaps::Get(absl::string_view name) const {
  if (const auto it = maps_.find(name); it != maps_.end()) return it->second;
  const auto append_name = [](std::string* out, const auto& entry) { *out += entry.first; };
  return WithReason(
      absl::NotFoundError(absl::StrCat(
          "no map \"", name, "\"; ",
          maps_.empty() ? std::string("the server has none")
                        : absl::StrCat("there are: ", absl::StrJoin(maps_, ", ", append_name)))),
      "MAP_NOT_FOUND", {{"map", std::string(name)}});
}

void ResidentMaps::UpdateMetrics() const {
  size_t tiles = 0;
  size_t points = 0;
  size_t cells = 0;
  size_t bytes = 0;
  for (const auto& [name, revision] : maps_) {
    tiles += revision->snapshot.tiles.size();
    points += revision->facts.points;
    bytes += revision->facts.memory_bytes;
    const ResidentMap& resident = *revision->snapshot.resident;
    for (size_t i = 0; i < resident.statistics().size(); ++i) cells += resident.cells(i);
  }
  metrics_.maps.Set(static_cast<double>(maps_.size()));
  metrics_.map_tiles.Set(static_cast<double>(tiles));
  metrics_.map_points.Set(static_cast<double>(points));
  metrics_.map_cells.Set(static_cast<double>(cells));
  metrics_.map_bytes.Set(static_cast<double>(bytes));
}

}  // namespace voxloc::server
