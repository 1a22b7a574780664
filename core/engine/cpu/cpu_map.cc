// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/cpu_map.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

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

CpuMap::CpuMap(std::vector<std::shared_ptr<const CpuTile>> tiles,
               std::vector<CellStatistics> statistics, const CpuMap* previous)
    : tiles_(std::move(tiles)), statistics_(std::move(statistics)) {
  layers_.reserve(statistics_.size());
  for (const CellStatistics& layer_statistics : statistics_) {
    std::vector<const TileMoments*> lattices;
    lattices.reserve(tiles_.size());
    for (const auto& tile : tiles_) lattices.push_back(tile->Lattice(layer_statistics.cell_size_m));
    const MapCellBlocks* reusable = nullptr;
    if (previous != nullptr) {
      const auto& known = previous->statistics_;
      const auto it = std::find(known.begin(), known.end(), layer_statistics);
      if (it != known.end()) {
        reusable = &previous->layers_[static_cast<size_t>(it - known.begin())].blocks;
      }
    }
    MapCellBlocks blocks =
        ComposeCells(lattices, layer_statistics, reusable != nullptr ? *reusable : MapCellBlocks{});
    GaussianGrid grid(blocks, layer_statistics);
    layers_.push_back({std::move(blocks), std::move(grid)});
  }
}

const GaussianGrid* CpuMap::Grid(const CellStatistics& statistics) const {
  const auto it = std::find(statistics_.begin(), statistics_.end(), statistics);
  return it == statistics_.end() ? nullptr
                                 : &layers_[static_cast<size_t>(it - statistics_.begin())].grid;
}

size_t CpuMap::MemoryBytes() const {
  size_t bytes = 0;
  for (const Layer& layer : layers_) {
    bytes += layer.grid.MemoryBytes();
    for (const auto& block : layer.blocks) {
      bytes += sizeof(MapCellBlock) + block->cells.capacity() * sizeof(MapCell);
    }
  }
  return bytes;
}

absl::StatusOr<std::vector<MapCell>> CpuMap::CellsInBox(size_t statistics_index,
                                                        const Eigen::Vector3d& min,
                                                        const Eigen::Vector3d& max,
                                                        size_t max_cells) const {
  std::vector<MapCell> found;
  for (const auto& block : layers_[statistics_index].blocks) {
    for (const MapCell& cell : block->cells) {
      if ((cell.mean.array() < min.array()).any() || (cell.mean.array() > max.array()).any()) {
        continue;
      }
      if (found.size() == max_cells) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the box holds more than ", max_cells, " cells; ask for a smaller one"));
      }
      found.push_back(cell);
    }
  }
  return found;
}

}  // namespace voxloc::cpu
