// SPDX-License-Identifier: Apache-2.0

#include "server/maps/fit/tile_fits.h"

#include <algorithm>

#include "core/status/try.h"

namespace voxloc::server {
namespace {

// One in this many records is evicted at a time, which amortizes the search for the oldest.
constexpr size_t kFitEvictionDivisor = 10;

}  // namespace

absl::Status TileFits::Load(MapStore& store) {
  VOXLOC_ASSIGN_OR_RETURN(const auto maps, store.ListMaps());
  for (const StoredMap& map : maps) {
    VOXLOC_ASSIGN_OR_RETURN(auto fits, store.ListTileFits(map.name));
    const absl::MutexLock lock(&mutex_);
    Contents& contents = maps_[map.name];
    for (StoredTileFit& stored : fits) {
      Entry& kept = contents[{std::move(stored.tile_id), stored.digest}];
      kept.record = {stored.fit, stored.last_used_unix_ns};
      ++count_;
    }
    EvictOldest();
    UpdateMetrics();
  }
  return absl::OkStatus();
}

void TileFits::Add(absl::string_view map, absl::Span<const TileObservation> tiles,
                   int64_t unix_ns) {
  if (tiles.empty()) return;
  const absl::MutexLock lock(&mutex_);
  Contents& contents = maps_[map];
  for (const TileObservation& seen : tiles) {
    const auto [it, added] = contents.try_emplace({seen.tile_id, seen.digest});
    if (added) ++count_;
    Entry& kept = it->second;
    TileFitRecord& record = kept.record;
    if (!added) {
      const double since_s = 1e-9 * static_cast<double>(unix_ns - record.last_used_unix_ns);
      record.fit.Scale(DecayPerScan() * DecayAfter(since_s));
    }
    record.fit.Add(seen.fit);
    // A clock that was set back makes nothing older.
    record.last_used_unix_ns = std::max(record.last_used_unix_ns, unix_ns);
    kept.changed = true;
  }
  EvictOldest();
  UpdateMetrics();
}

void TileFits::EvictOldest() {
  if (count_ <= max_tiles_) return;
  std::vector<int64_t> times;
  times.reserve(count_);
  for (const auto& [map, contents] : maps_) {
    for (const auto& [content, kept] : contents) times.push_back(kept.record.last_used_unix_ns);
  }
  // Contents of one scan have equal times: of the newest evicted time, any of them may go.
  size_t surplus = std::max(count_ - max_tiles_, count_ / kFitEvictionDivisor);
  const auto last = times.begin() + static_cast<ptrdiff_t>(surplus - 1);
  std::nth_element(times.begin(), last, times.end());
  const int64_t newest_evicted = *last;
  for (auto& [map, contents] : maps_) {
    absl::erase_if(contents, [&](const auto& entry) {
      if (surplus == 0 || entry.second.record.last_used_unix_ns > newest_evicted) return false;
      --surplus;
      --count_;
      return true;
    });
  }
}

void TileFits::UpdateMetrics() const { tiles_.Set(static_cast<double>(count_)); }

std::optional<TileFitRecord> TileFits::Find(absl::string_view map, absl::string_view tile_id,
                                            const Sha256Digest& digest) const {
  const absl::MutexLock lock(&mutex_);
  const auto contents = maps_.find(map);
  if (contents == maps_.end()) return std::nullopt;
  const auto it = contents->second.find(Content(tile_id, digest));
  if (it == contents->second.end()) return std::nullopt;
  return it->second.record;
}

void TileFits::RemoveMap(absl::string_view map) {
  const absl::MutexLock lock(&mutex_);
  const auto contents = maps_.find(map);
  if (contents == maps_.end()) return;
  count_ -= contents->second.size();
  maps_.erase(contents);
  UpdateMetrics();
}

absl::Status TileFits::Save(MapStore& store) {
  std::vector<StoredTileFit> changed;
  {
    const absl::MutexLock lock(&mutex_);
    for (auto& [map, contents] : maps_) {
      for (auto& [content, kept] : contents) {
        if (!std::exchange(kept.changed, false)) continue;
        changed.push_back(
            {map, content.first, content.second, kept.record.last_used_unix_ns, kept.record.fit});
      }
    }
  }
  if (changed.empty()) return absl::OkStatus();
  absl::Status status = store.SaveTileFits(changed);
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  for (StoredTileFit& stored : changed) {
    const auto contents = maps_.find(stored.map);
    if (contents == maps_.end()) continue;
    const auto it = contents->second.find(Content(std::move(stored.tile_id), stored.digest));
    if (it != contents->second.end()) it->second.changed = true;
  }
  return status;
}

}  // namespace voxloc::server
