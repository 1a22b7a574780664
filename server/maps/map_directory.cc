// SPDX-License-Identifier: Apache-2.0

#include "server/maps/map_directory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace voxloc::server {
namespace {

std::shared_ptr<const MapFacts> FactsOf(const MapSnapshot& snapshot,
                                        std::shared_ptr<const MapBuild> build,
                                        TileChecksums checksums) {
  auto facts = std::make_shared<MapFacts>();
  facts->build = std::move(build);
  facts->checksums = std::move(checksums);
  facts->bounds = snapshot.bounds();
  facts->points = snapshot.points();
  facts->memory_bytes = snapshot.resident->MemoryBytes();
  for (const auto& [id, tile] : snapshot.tiles) facts->memory_bytes += tile.resident->MemoryBytes();
  return facts;
}

}  // namespace

MapDirectory::MapDirectory(size_t max_maps, const Metrics& metrics, WorkQueue& mapping)
    : metrics_(metrics), mapping_(mapping), catalogue_(max_maps) {}

absl::StatusOr<MapView> MapDirectory::Find(absl::string_view name) const {
  const absl::MutexLock lock(&mutex_);
  auto snapshot = catalogue_.Find(name);
  if (!snapshot.ok()) return snapshot.status();
  return ViewOf(*std::move(snapshot));
}

std::vector<MapView> MapDirectory::List() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<MapView> views;
  for (auto& snapshot : catalogue_.List()) views.push_back(ViewOf(std::move(snapshot)));
  return views;
}

size_t MapDirectory::size() const {
  const absl::MutexLock lock(&mutex_);
  return facts_.size();
}

absl::StatusOr<MapView> MapDirectory::Publish(std::unique_ptr<MapSnapshot> snapshot,
                                              std::shared_ptr<const MapBuild> build,
                                              TileChecksums checksums, uint64_t base_revision) {
  MapView view;
  view.facts = FactsOf(*snapshot, std::move(build), std::move(checksums));
  std::shared_ptr<const MapSnapshot> previous;  // let go outside the lock
  {
    const absl::MutexLock lock(&mutex_);
    snapshot->revision = base_revision + 1;
    snapshot->committed_unix_ns = absl::GetCurrentTimeNanos();
    for (auto& [id, tile] : snapshot->tiles) {
      if (tile.revision == 0) tile.revision = snapshot->revision;
    }
    view.snapshot = FreedOnQueue(std::move(snapshot));
    if (auto found = catalogue_.Find(view.snapshot->name); found.ok()) previous = *found;
    if (absl::Status status = catalogue_.Publish(view.snapshot, base_revision); !status.ok()) {
      return status;
    }
    facts_[view.snapshot->name] = view.facts;
  }
  UpdateMetrics();
  return view;
}

absl::StatusOr<uint64_t> MapDirectory::Remove(absl::string_view name, uint64_t revision) {
  std::shared_ptr<const MapSnapshot> removed;
  {
    const absl::MutexLock lock(&mutex_);
    auto found = catalogue_.Find(name);
    if (!found.ok()) return found.status();
    removed = *std::move(found);
    if (revision != 0 && revision != removed->revision) {
      return absl::AbortedError(absl::StrCat("map ", removed->name, " is at revision ",
                                             removed->revision, ", not ", revision));
    }
    if (absl::Status status = catalogue_.Remove(name); !status.ok()) return status;
    facts_.erase(removed->name);
  }
  UpdateMetrics();
  return removed->revision;
}

MapView MapDirectory::ViewOf(std::shared_ptr<const MapSnapshot> snapshot) const {
  MapView view;
  if (const auto facts = facts_.find(snapshot->name); facts != facts_.end()) {
    view.facts = facts->second;
  }
  view.snapshot = std::move(snapshot);
  return view;
}

std::shared_ptr<const MapSnapshot> MapDirectory::FreedOnQueue(
    std::unique_ptr<MapSnapshot> snapshot) const {
  WorkQueue* const queue = &mapping_;
  return {snapshot.release(), [queue](const MapSnapshot* released) {
            // A task that is refused, or dropped by a queue that stops, frees it as it goes.
            std::shared_ptr<const MapSnapshot> last(released);
            const bool posted = queue->Post([last = std::move(last)] {});
            static_cast<void>(posted);
          }};
}

void MapDirectory::UpdateMetrics() const {
  size_t tiles = 0;
  size_t points = 0;
  size_t cells = 0;
  size_t bytes = 0;
  const std::vector<MapView> views = List();
  for (const MapView& view : views) {
    tiles += view.snapshot->tiles.size();
    points += view.facts->points;
    bytes += view.facts->memory_bytes;
    const ResidentMap& resident = *view.snapshot->resident;
    for (size_t i = 0; i < resident.statistics().size(); ++i) cells += resident.cells(i);
  }
  metrics_.maps.Set(static_cast<double>(views.size()));
  metrics_.map_tiles.Set(static_cast<double>(tiles));
  metrics_.map_points.Set(static_cast<double>(points));
  metrics_.map_cells.Set(static_cast<double>(cells));
  metrics_.map_bytes.Set(static_cast<double>(bytes));
}

}  // namespace voxloc::server
