// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_grid.h"

#include <algorithm>

namespace voxloc::cpu {
namespace {

// An index of the region that the cells' index positions span.
BlockIndex BlockIndexFor(const MapCellBlocks& blocks, double cell_size_m) {
  CellKey first;
  CellKey last;
  bool any = false;
  for (const auto& block : blocks) {
    for (const MapCell& cell : block->cells) {
      const CellKey at = BlockOf(CellOf(cell.index, cell_size_m));
      first =
          any ? CellKey{std::min(first.x, at.x), std::min(first.y, at.y), std::min(first.z, at.z)}
              : at;
      last = any ? CellKey{std::max(last.x, at.x), std::max(last.y, at.y), std::max(last.z, at.z)}
                 : at;
      any = true;
    }
  }
  return any ? BlockIndex(first, last) : BlockIndex();
}

}  // namespace

GaussianGrid::GaussianGrid(const MapCellBlocks& blocks, const CellStatistics& statistics)
    : cell_size_m_(statistics.cell_size_m) {
  // Cells are counted into their lattice cells, then placed: a counting sort that keeps the order
  // of cells that share one.
  size_t total = 0;
  for (const auto& block : blocks) total += block->cells.size();
  blocks_ = BlockIndexFor(blocks, cell_size_m_);
  std::vector<size_t> slot_of;  // of each cell, in the order of the blocks
  slot_of.reserve(total);
  std::vector<uint32_t> counts;
  for (const auto& block : blocks) {
    for (const MapCell& cell : block->cells) {
      const CellKey at = CellOf(cell.index, cell_size_m_);
      const size_t slot = size_t{blocks_.FindOrAdd(BlockOf(at))} * kBlockCells + PlaceInBlock(at);
      if (slot >= counts.size()) counts.resize(blocks_.blocks().size() * kBlockCells, 0);
      ++counts[slot];
      slot_of.push_back(slot);
    }
  }
  begin_.resize(counts.size() + 1);
  uint32_t begin = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    begin_[i] = begin;
    begin += counts[i];
  }
  begin_.back() = begin;

  positions_.resize(total);
  information_.resize(total);
  std::vector<uint32_t> cursor(begin_.begin(), begin_.end() - 1);
  size_t i = 0;
  for (const auto& block : blocks) {
    for (const MapCell& cell : block->cells) {
      const uint32_t to = cursor[slot_of[i++]]++;
      const Eigen::Vector3d corner = CellCorner(CellOf(cell.index, cell_size_m_), cell_size_m_);
      for (int axis = 0; axis < 3; ++axis) {
        positions_[to].index[axis] = static_cast<float>(cell.index[axis] - corner[axis]);
        positions_[to].mean[axis] = static_cast<float>(cell.mean[axis] - corner[axis]);
      }
      const ndt::Symmetric3<double>& b = cell.information;
      information_[to] = {{static_cast<float>(b.xx), static_cast<float>(b.xy),
                           static_cast<float>(b.xz), static_cast<float>(b.yy),
                           static_cast<float>(b.yz), static_cast<float>(b.zz), 0.0F, 0.0F}};
    }
  }
}

size_t GaussianGrid::MemoryBytes() const {
  return blocks_.MemoryBytes() + begin_.capacity() * sizeof(uint32_t) +
         positions_.capacity() * sizeof(Position) +
         information_.capacity() * sizeof(InformationRow);
}

void GaussianGrid::CellsAround(const CellKey& key, Run (&runs)[27]) const {
  // The neighbourhood spans at most two blocks along each axis.
  const CellKey low = BlockOf({key.x - 1, key.y - 1, key.z - 1});
  const CellKey high = BlockOf({key.x + 1, key.y + 1, key.z + 1});
  uint32_t numbers[2][2][2];
  for (int32_t z = low.z; z <= high.z; ++z) {
    for (int32_t y = low.y; y <= high.y; ++y) {
      for (int32_t x = low.x; x <= high.x; ++x) {
        numbers[z - low.z][y - low.y][x - low.x] = blocks_.Find({x, y, z});
      }
    }
  }
  int i = 0;
  for (int32_t dz = -1; dz <= 1; ++dz) {
    for (int32_t dy = -1; dy <= 1; ++dy) {
      for (int32_t dx = -1; dx <= 1; ++dx, ++i) {
        const CellKey cell = {key.x + dx, key.y + dy, key.z + dz};
        const CellKey block = BlockOf(cell);
        const uint32_t number = numbers[block.z - low.z][block.y - low.y][block.x - low.x];
        if (number == BlockIndex::kNone) {
          runs[i] = {};
          continue;
        }
        const size_t at = size_t{number} * kBlockCells + PlaceInBlock(cell);
        runs[i] = {begin_[at], begin_[at + 1]};
      }
    }
  }
}

GaussianGrid::Run GaussianGrid::CellsIn(const CellKey& key) const {
  const uint32_t number = blocks_.Find(BlockOf(key));
  if (number == BlockIndex::kNone) return {};
  const size_t at = size_t{number} * kBlockCells + PlaceInBlock(key);
  return {begin_[at], begin_[at + 1]};
}

}  // namespace voxloc::cpu
