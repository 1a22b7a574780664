// SPDX-License-Identifier: Apache-2.0
//
// From the moments of tiles to the Gaussians of a map, in double precision.
//
// A MapCellBlock holds the cells of one 8x8x8 block and is shared, unchanged, between
// snapshots whose tiles agree there.

#ifndef VOXLOC_CORE_MAP_CELLS_H_
#define VOXLOC_CORE_MAP_CELLS_H_

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/map/cell_statistics.h"
#include "core/map/lattice.h"
#include "core/map/tile_moments.h"
#include "core/ndt/cell_gaussian.h"

namespace voxloc {

struct MapCell {
  CellKey key;                                      // of the lattice cell its points lie in
  uint64_t count = 0;                               // points
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();   // map frame, m
  Eigen::Vector3d index = Eigen::Vector3d::Zero();  // where the search finds it, map frame, m
  ndt::Symmetric3<double> covariance;               // regularised, m^2
  ndt::Symmetric3<double> information;              // 1/m^2
};

struct MapCellBlock {
  CellKey key;
  // The tiles that have points here, in the map's order of tiles.
  std::vector<const TileMoments*> sources;
  std::vector<MapCell> cells;  // ascending by place in the block, then by tile
};

using MapCellBlocks = std::vector<std::shared_ptr<const MapCellBlock>>;

// Composes tiles, which must be of the statistics' cell size, into cells: blocks ascending by key.
// A block of `previous` (may be empty; the same statistics) whose sources are the same is shared,
// so a change costs in proportion to the tiles changed. The tiles must outlive the blocks.
[[nodiscard]] MapCellBlocks ComposeCells(absl::Span<const TileMoments* const> tiles,
                                         const CellStatistics& statistics,
                                         const MapCellBlocks& previous = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_CELLS_H_
