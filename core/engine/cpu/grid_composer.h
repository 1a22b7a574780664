// SPDX-License-Identifier: Apache-2.0
//
// From the moments of tiles to a grid of Gaussians, from nothing or from the grid of a predecessor.
// Functions of no state: thread-safe. The same grid, to the bit, on both ways and whatever the
// number of threads.

#ifndef VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_
#define VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/map/cell_statistics.h"
#include "core/map/tile_moments.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::cpu {

// What a list of tiles has that a predecessor's had not, and the other way round. The tiles of both
// keep their order.
struct GridChange {
  const GaussianGrid& previous;
  std::vector<const TileMoments*> gone;
  std::vector<size_t> came;  // positions in the list
};

// Tiles, which must outlive the grid, are of the statistics' cell size and in the map's order. With
// `change` only blocks that its tiles have points in are made anew, and those in which Gaussians of
// these blocks are or were found. `pool` null: on the caller's thread.
[[nodiscard]] GaussianGrid ComposeGrid(absl::Span<const TileMoments* const> tiles,
                                       const CellStatistics& statistics, const GridChange* change,
                                       ThreadPool* pool);

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_GRID_COMPOSER_H_
