// SPDX-License-Identifier: Apache-2.0
//
// Composes a grid of Gaussians from the moments of tiles, from scratch or incrementally from the
// previous grid. Both give bit-identical grids with any number of threads. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_
#define VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/map/cells.h"
#include "core/map/tile_moments.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::cpu {

// The difference between a list of tiles and that of the previous grid. Tiles of both lists have
// the same order in both.
struct GridChange {
  const GaussianGrid& previous;
  std::vector<const TileMoments*> removed;
  std::vector<size_t> added;  // positions in the list
};

// Tiles, which must outlive the grid, are of the statistics' cell size and in the map's order. With
// `change` only blocks that its tiles have points in are made anew, and those in which Gaussians of
// these blocks are or were found. `pool` null: on the caller's thread.
[[nodiscard]] GaussianGrid ComposeGrid(absl::Span<const TileMoments* const> tiles,
                                       const CellStatistics& statistics, const GridChange* change,
                                       ThreadPool* pool);

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_
