// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/grid_cache.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace voxloc {
namespace {

// Cached errors take no memory that is counted, so the number of entries is limited too.
constexpr size_t kMaxEntries = 64;

bool SameArea(const std::optional<SearchArea>& a, const std::optional<SearchArea>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a.has_value() || (a->min == b->min && a->max == b->max);
}

bool SameOptions(const SearchGridOptions& a, const SearchGridOptions& b) {
  return a.voxel_m == b.voxel_m && a.shifts == b.shifts && a.tolerances == b.tolerances &&
         a.reach_m == b.reach_m;
}

// A permanent property of the map, unlike a lack of memory.
bool IsTooLarge(const absl::Status& status) { return absl::IsInvalidArgument(status); }

}  // namespace

absl::StatusOr<std::shared_ptr<const SearchGrid>> GridCache::Get(
    const std::shared_ptr<const ResidentMap>& map, const CellStatistics& statistics,
    const std::optional<SearchArea>& area, SearchGridOptions options) {
  options.max_bytes = max_bytes_;
  absl::MutexLock lock(&mutex_);
  Grid whole = GetOrMake(map, statistics, std::nullopt, options);
  const bool retry_with_area =
      IsTooLarge(whole.status()) || absl::IsResourceExhausted(whole.status());
  if (whole.ok() || !area.has_value() || !retry_with_area) return whole;
  return GetOrMake(map, statistics, area, options);
}

GridCache::Grid GridCache::GetOrMake(const std::shared_ptr<const ResidentMap>& map,
                                     const CellStatistics& statistics,
                                     const std::optional<SearchArea>& area,
                                     const SearchGridOptions& options) {
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.map.lock() == map && entry.statistics == statistics &&
           SameArea(entry.area, area) && SameOptions(entry.options, options);
  });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->grid;
  }
  absl::StatusOr<SearchGrid> made = MakeSearchGrid(engine_, *map, statistics, area, options);
  if (!made.ok() && (area.has_value() || !IsTooLarge(made.status()))) return made.status();
  const Grid grid =
      made.ok() ? Grid(std::make_shared<const SearchGrid>(*std::move(made))) : Grid(made.status());
  Entry entry{map, statistics, area, options, grid};
  EvictFor(entry.MemoryBytes());
  entries_.push_front(std::move(entry));
  return entries_.front().grid;
}

void GridCache::EvictFor(size_t bytes) {
  entries_.remove_if([](const Entry& entry) { return entry.map.expired(); });
  size_t in_use = bytes;
  size_t kept = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    in_use += it->MemoryBytes();
    const bool keep = in_use <= max_bytes_ && ++kept < kMaxEntries;
    it = keep ? std::next(it) : entries_.erase(it);
  }
}

}  // namespace voxloc
