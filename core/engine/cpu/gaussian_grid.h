// SPDX-License-Identifier: Apache-2.0
//
// GaussianGrid: the cells of a map as the CPU engine's hot loop wants them: float32 relative to
// their lattice cell, sorted by the lattice cell of their index position, so that the cells of any
// lattice cell, however many, are one contiguous run. Immutable; any thread may read it.

#ifndef VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_
#define VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/engine/cpu/kernels.h"
#include "core/map/block_index.h"
#include "core/map/cells.h"
#include "core/map/lattice.h"

namespace voxloc::cpu {

class GaussianGrid {
 public:
  // A run of cells [begin, end).
  struct Run {
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // Where a cell is, relative to the low corner of the lattice cell of its index position, metres.
  struct Position {
    float index[3];
    float mean[3];
  };

  GaussianGrid(const MapCellBlocks& blocks, const CellStatistics& statistics);

  [[nodiscard]] double cell_size_m() const { return cell_size_m_; }
  [[nodiscard]] size_t size() const { return information_.size(); }
  [[nodiscard]] size_t MemoryBytes() const;

  // The cells whose index position lies in the lattice cell or one of the 26 around it: 27 runs, x
  // fastest, then y, then z. Costs one look-up for each block touched.
  void CellsAround(const CellKey& key, Run (&runs)[27]) const;

  // Those in the lattice cell alone.
  [[nodiscard]] Run CellsIn(const CellKey& key) const;

  [[nodiscard]] const Position& position(size_t cell) const { return positions_[cell]; }
  [[nodiscard]] const InformationRow* information() const { return information_.data(); }

 private:
  double cell_size_m_;
  BlockIndex blocks_;
  std::vector<uint32_t> begin_;  // of each lattice cell of each block, and one past the last
  std::vector<Position> positions_;
  std::vector<InformationRow> information_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_
