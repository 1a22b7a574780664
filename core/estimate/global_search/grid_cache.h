// SPDX-License-Identifier: Apache-2.0
//
// GridCache: an LRU cache of search grids. Maps are compared by identity: a new revision is another
// map. Thread-safe; one grid is built at a time, and other callers block meanwhile.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GRID_CACHE_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GRID_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"
#include "core/estimate/global_search/search_grid.h"

namespace voxloc {

class GridCache {
 public:
  GridCache(Engine& engine, size_t max_bytes) : engine_(engine), max_bytes_(max_bytes) {}

  // Of the whole map, or, where that is too large or the engine has no memory for it now, of the
  // area. Errors: see MakeSearchGrid.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const SearchGrid>> Get(
      const std::shared_ptr<const ResidentMap>& map, const CellStatistics& statistics,
      const std::optional<SearchArea>& area, SearchGridOptions options);

 private:
  using Grid = absl::StatusOr<std::shared_ptr<const SearchGrid>>;
  struct Entry {
    std::weak_ptr<const ResidentMap> map;
    CellStatistics statistics;
    std::optional<SearchArea> area;
    SearchGridOptions options;
    Grid grid;  // an error where the whole map is too large
    [[nodiscard]] size_t MemoryBytes() const {
      return grid.ok() ? (*grid)->resident->MemoryBytes() : 0;
    }
  };

  Grid GetOrMake(const std::shared_ptr<const ResidentMap>& map, const CellStatistics& statistics,
                 const std::optional<SearchArea>& area, const SearchGridOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Evicts the grids of deleted maps, and the least recently used ones until `bytes` more fit.
  void EvictFor(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Engine& engine_;
  const size_t max_bytes_;
  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the last used first
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GRID_CACHE_H_
