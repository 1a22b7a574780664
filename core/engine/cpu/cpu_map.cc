// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/cpu_map.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/engine/out_of_memory.h"
#include "core/map/tile_catalogue.h"

namespace voxloc::cpu {

const TileMoments* CpuTile::Lattice(double cell_size_m) const {
  for (const TileMoments& lattice : lattices_) {
    if (lattice.cell_size_m == cell_size_m) return &lattice;
  }
  return nullptr;
}

size_t CpuTile::cells() const {
  size_t most = 0;
  for (const TileMoments& lattice : lattices_) most = std::max(most, lattice.cells());
  return most;
}

size_t CpuTile::MemoryBytes() const {
  size_t bytes = 0;
  for (const TileMoments& lattice : lattices_) bytes += lattice.MemoryBytes();
  return bytes;
}

CpuMap::CpuMap(const Engine& engine, std::vector<std::shared_ptr<const CpuTile>> tiles,
               std::vector<CellStatistics> statistics, const CpuMap* previous, ThreadPool* pool)
    : engine_(engine), tiles_(std::move(tiles)), statistics_(std::move(statistics)) {
  TileChange change;
  if (previous != nullptr) change = CompareTiles(PointersTo(previous->tiles_), PointersTo(tiles_));
  grids_.reserve(statistics_.size());
  for (const CellStatistics& s : statistics_) {
    const GaussianGrid* const known = change.incremental ? previous->Grid(s) : nullptr;
    if (known != nullptr && change.empty()) {
      grids_.push_back(*known);
      continue;
    }
    std::vector<const TileMoments*> lattices;
    lattices.reserve(tiles_.size());
    for (const auto& tile : tiles_) lattices.push_back(tile->Lattice(s.cell_size_m));
    if (known == nullptr) {
      grids_.push_back(ComposeGrid(lattices, s, nullptr, pool));
      continue;
    }
    GridChange grid_change{*known, {}, change.added};
    for (const size_t position : change.removed) {
      grid_change.removed.push_back(previous->tiles_[position]->Lattice(s.cell_size_m));
    }
    grids_.push_back(ComposeGrid(lattices, s, &grid_change, pool));
  }
}

const GaussianGrid* CpuMap::Grid(const CellStatistics& statistics) const {
  const auto it = std::find(statistics_.begin(), statistics_.end(), statistics);
  return it == statistics_.end() ? nullptr : &grids_[static_cast<size_t>(it - statistics_.begin())];
}

size_t CpuMap::MemoryBytes() const {
  size_t bytes = 0;
  for (const GaussianGrid& grid : grids_) bytes += grid.MemoryBytes();
  return bytes;
}

absl::StatusOr<std::vector<MapCell>> CpuMap::CellsInBox(size_t statistics_index,
                                                        const Eigen::Vector3d& min,
                                                        const Eigen::Vector3d& max,
                                                        size_t max_cells) const {
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<std::vector<MapCell>> {
        std::vector<MapCell> found;
        std::vector<MapCell> cells;
        for (const auto& [key, block] : grids_[statistics_index].BlocksMeeting(min, max)) {
          cells.clear();
          ComposeBlock(key, block->sources, statistics_[statistics_index], cells);
          for (const MapCell& cell : cells) {
            if ((cell.mean.array() < min.array()).any() ||
                (cell.mean.array() > max.array()).any()) {
              continue;
            }
            if (found.size() == max_cells) {
              return absl::ResourceExhaustedError(absl::StrCat(
                  "the box holds more than ", max_cells, " cells; ask for a smaller one"));
            }
            found.push_back(cell);
          }
        }
        return found;
      },
      [] { return "no memory for the cells of the box"; });
}

}  // namespace voxloc::cpu
