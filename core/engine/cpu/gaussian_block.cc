// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_block.h"

#include <algorithm>

namespace voxloc::cpu {
namespace {

GaussianRecord RecordOf(const MapCell& cell, const CellKey& at, double cell_size_m) {
  const ndt::Symmetric3<double>& b = cell.information;
  GaussianRecord record = {
      {static_cast<float>(b.xx), static_cast<float>(b.xy), static_cast<float>(b.xz),
       static_cast<float>(b.yy), static_cast<float>(b.yz), static_cast<float>(b.zz)},
      {},
      {}};
  const Eigen::Vector3d corner = CellCorner(at, cell_size_m);
  for (int axis = 0; axis < 3; ++axis) {
    record.index[axis] = static_cast<float>(cell.index[axis] - corner[axis]);
    record.mean[axis] = static_cast<float>(cell.mean[axis] - corner[axis]);
  }
  return record;
}

}  // namespace

size_t GaussianBlock::MemoryBytes() const {
  return sizeof(*this) + sources.capacity() * sizeof(CellSource) +
         (spill_targets.capacity() + spill_sources.capacity()) * sizeof(CellKey) +
         begins.capacity() * sizeof(uint32_t) + records.capacity() * sizeof(GaussianRecord);
}

// A counting sort by place, which keeps the order within one.
std::vector<CellKey> PlaceGaussians(const CellKey& key, absl::Span<const MapCell> cells,
                                    double cell_size_m, GaussianBlock& block) {
  uint32_t next[kBlockCells] = {};  // first how many, then where the next one goes
  std::vector<CellKey> elsewhere;
  size_t total = 0;
  for (const MapCell& cell : cells) {
    const CellKey at = CellOf(cell.index, cell_size_m);
    if (const CellKey found_in = BlockOf(at); !(found_in == key)) {
      elsewhere.push_back(found_in);
      continue;
    }
    const uint32_t place = PlaceInBlock(at);
    block.places.Insert(place);
    ++next[place];
    ++total;
  }
  block.places.Count();
  block.begins.reserve(block.places.size() + 1);
  uint32_t begin = 0;
  block.places.ForEach([&](uint32_t place) {
    block.begins.push_back(begin);
    begin += next[place];
    next[place] = block.begins.back();
  });
  block.begins.push_back(begin);
  block.records.resize(total);
  for (const MapCell& cell : cells) {
    const CellKey at = CellOf(cell.index, cell_size_m);
    if (!(BlockOf(at) == key)) continue;
    block.records[next[PlaceInBlock(at)]++] = RecordOf(cell, at, cell_size_m);
  }
  std::sort(elsewhere.begin(), elsewhere.end());
  elsewhere.erase(std::unique(elsewhere.begin(), elsewhere.end()), elsewhere.end());
  return elsewhere;
}

}  // namespace voxloc::cpu
