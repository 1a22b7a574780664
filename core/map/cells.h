// SPDX-License-Identifier: Apache-2.0
//
// From the moments of tiles to the Gaussians of a map, in double precision.
//
// CellStatistics say how: a map carries one set of cells for each statistics that its profiles
// name. A MapCellBlock holds the cells of one 8x8x8 block and is shared, unchanged, between
// snapshots whose tiles agree there.

#ifndef VOXLOC_CORE_MAP_CELLS_H_
#define VOXLOC_CORE_MAP_CELLS_H_

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/map/lattice.h"
#include "core/map/tile_moments.h"
#include "core/ndt/cell_statistics.h"

namespace voxloc {

struct CellStatistics {
  double cell_size_m = 2.0;
  ndt::GaussianOptions gaussian;
  // Points of one cell that lie in several tiles: one Gaussian (true), or one for each tile, as the
  // reference has it.
  bool merge_tiles = true;
  // Where the neighbour search looks for a cell: at its mean (false), or at the reference's float32
  // running mean (true), which takes part per tile and so needs merge_tiles to be false.
  bool float_index = false;

  friend bool operator==(const CellStatistics& a, const CellStatistics& b) {
    return a.cell_size_m == b.cell_size_m && a.gaussian.min_points == b.gaussian.min_points &&
           a.gaussian.identity_seed == b.gaussian.identity_seed &&
           a.gaussian.eigenvalue_ratio == b.gaussian.eigenvalue_ratio &&
           a.merge_tiles == b.merge_tiles && a.float_index == b.float_index;
  }
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateCellStatistics(const CellStatistics& statistics);
[[nodiscard]] std::string ToString(const CellStatistics& statistics);

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
