// SPDX-License-Identifier: Apache-2.0
//
// SearchGrid: the occupied voxels of a map, or of a part of it, and where they are. Made from the
// map's Gaussians: a voxel is occupied where one of them says there is a surface.
//
// Immutable; any number of threads may use one.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_GRID_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_GRID_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/engine/engine.h"

namespace voxloc {

struct SearchGridOptions {
  double voxel_m = 1.0;
  std::vector<int> shifts = {0, 1, 2};  // see BoundGridShape
  std::vector<int> tolerances = {0, 1, 3};
  double reach_m = 50.0;  // how far from the sensor its points may be, along x and y
  size_t max_bytes = size_t{1} << 30;
};

// The part of the map frame that a sensor may be in, metres; z is free.
struct SearchArea {
  Eigen::Vector2d min;
  Eigen::Vector2d max;
};

struct SearchGrid {
  std::shared_ptr<const ResidentBoundGrid> resident;
  double voxel_m = 1.0;
  Eigen::Vector3d corner_map = Eigen::Vector3d::Zero();  // of column (0, 0) at z level 0
  // Columns [begin, end) that a sensor may be in, with room for its reach around them.
  Eigen::Vector2i begin = Eigen::Vector2i::Zero();
  Eigen::Vector2i end = Eigen::Vector2i::Zero();
  int32_t z_levels = 0;

  // The middle of a voxel, map frame.
  [[nodiscard]] Eigen::Vector3d Centre(int32_t x, int32_t y, int32_t z) const {
    return corner_map + voxel_m * (Eigen::Vector3d(x, y, z) + Eigen::Vector3d::Constant(0.5));
  }
};

// Voxels of the lattice of size `voxel_m` whose middle lies within the ellipsoid of the Gaussian
// that a uniform spread would fill (sqrt(3) sigma), a voxel's own extent added. Appended.
void AddOccupiedVoxels(const MapCell& cell, double voxel_m, std::vector<CellKey>& voxels);

// Which of the map's statistics such voxels are best made from: the finest among `candidates` with
// cells no smaller than a voxel, or else the coarsest. `candidates` must not be empty.
[[nodiscard]] const CellStatistics& ChooseStatistics(const std::vector<CellStatistics>& candidates,
                                                     double voxel_m);

// `area`: nullopt is the whole map. InvalidArgument: the area does not touch the map, the map has
// no cells, or the grid would be larger than max_bytes; the message has the size allowed. `map`
// must have been composed with `statistics`.
[[nodiscard]] absl::StatusOr<SearchGrid> MakeSearchGrid(Engine& engine, const ResidentMap& map,
                                                        const CellStatistics& statistics,
                                                        const std::optional<SearchArea>& area,
                                                        const SearchGridOptions& options);

// GridCache: an LRU cache of search grids. Maps are compared by identity: a new revision is another
// map. Thread-safe; one grid is built at a time, and other callers block meanwhile.
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

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_GRID_H_
