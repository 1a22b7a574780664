// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_grid.h"

#include <algorithm>

namespace voxloc::cpu {

GaussianGrid::GaussianGrid(const MapCellBlocks& blocks, const CellStatistics& statistics)
    : cell_size_m_(statistics.cell_size_m) {
  // Cells are counted into their lattice cells, then placed: a counting sort that keeps the order of
  // cells that share one.
  size_t total = 0;
  for (const auto& block : blocks) total += block->cells.size();
  block_number_.reserve(blocks.size());
  std::vector<size_t> slot_of;  // of each cell, in the order of the blocks
  slot_of.reserve(total);
  std::vector<uint32_t> counts;
  for (const auto& block : blocks) {
    for (const MapCell& cell : block->cells) {
      const CellKey at = CellOf(cell.index, cell_size_m_);
      const auto [it, inserted] =
          block_number_.try_emplace(BlockOf(at), static_cast<uint32_t>(block_number_.size()));
      if (inserted) counts.resize(counts.size() + kBlockCells, 0);
      const size_t slot = size_t{it->second} * kBlockCells + PlaceInBlock(at);
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

  index_.resize(total);
  mean_.resize(total);
  information_.resize(total);
  std::vector<uint32_t> cursor(begin_.begin(), begin_.end() - 1);
  size_t i = 0;
  for (const auto& block : blocks) {
    for (const MapCell& cell : block->cells) {
      const uint32_t to = cursor[slot_of[i++]]++;
      const Eigen::Vector3d corner = CellCorner(CellOf(cell.index, cell_size_m_), cell_size_m_);
      index_[to] = (cell.index - corner).cast<float>();
      mean_[to] = (cell.mean - corner).cast<float>();
      const ndt::Symmetric3<double>& b = cell.information;
      information_[to] = {{static_cast<float>(b.xx), static_cast<float>(b.xy),
                           static_cast<float>(b.xz), static_cast<float>(b.yy),
                           static_cast<float>(b.yz), static_cast<float>(b.zz), 0.0F, 0.0F}};
    }
  }
}

size_t GaussianGrid::MemoryBytes() const {
  return block_number_.capacity() * (sizeof(CellKey) + sizeof(uint32_t) + 1) +
         begin_.capacity() * sizeof(uint32_t) +
         (index_.capacity() + mean_.capacity()) * sizeof(Eigen::Vector3f) +
         information_.capacity() * sizeof(InformationRow);
}

void GaussianGrid::CellsAround(const CellKey& key, Run (&runs)[27]) const {
  constexpr uint32_t kNone = 0xffffffffU;
  constexpr uint32_t kUnknown = 0xfffffffeU;
  // The neighbourhood spans at most two blocks along each axis.
  const CellKey low = BlockOf({key.x - 1, key.y - 1, key.z - 1});
  uint32_t numbers[8];
  std::fill(std::begin(numbers), std::end(numbers), kUnknown);
  int i = 0;
  for (int32_t dz = -1; dz <= 1; ++dz) {
    for (int32_t dy = -1; dy <= 1; ++dy) {
      for (int32_t dx = -1; dx <= 1; ++dx, ++i) {
        const CellKey cell = {key.x + dx, key.y + dy, key.z + dz};
        const CellKey block = BlockOf(cell);
        uint32_t& number =
            numbers[(block.x - low.x) + 2 * (block.y - low.y) + 4 * (block.z - low.z)];
        if (number == kUnknown) {
          const auto it = block_number_.find(block);
          number = it == block_number_.end() ? kNone : it->second;
        }
        runs[i] = number == kNone ? Run{} : RunAt(number, PlaceInBlock(cell));
      }
    }
  }
}

}  // namespace voxloc::cpu
