// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_grid.h"

#include <algorithm>
#include <atomic>

#include "core/map/cells.h"

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
  block.places.BuildRanks();
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

namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

GaussianGrid::GaussianGrid(double cell_size_m) : id_(NextNumber()), cell_size_m_(cell_size_m) {}

GaussianGrid GaussianGrid::With(std::vector<Blocks::Change> changes) const {
  GaussianGrid next(cell_size_m_);
  next.size_ = size_;
  next.block_bytes_ = block_bytes_;
  for (const Blocks::Change& change : changes) {
    if (const GaussianBlock* const old = Find(change.block); old != nullptr) {
      next.size_ -= old->records.size();
      next.block_bytes_ -= old->MemoryBytes();
    }
    if (change.value.has_value()) {
      next.size_ += (*change.value)->records.size();
      next.block_bytes_ += (*change.value)->MemoryBytes();
    }
  }
  next.blocks_ = blocks_.With(std::move(changes));
  return next;
}

std::vector<std::pair<CellKey, const GaussianBlock*>> GaussianGrid::BlocksMeeting(
    const Eigen::Vector3d& min, const Eigen::Vector3d& max) const {
  std::vector<std::pair<CellKey, const GaussianBlock*>> found;
  const auto wanted = [&](const CellKey& first, const CellKey& last) {
    return MayContainMeans(first, last, cell_size_m_, min, max);
  };
  blocks_.ForEachIn(wanted,
                    [&](const CellKey& key, const std::shared_ptr<const GaussianBlock>& block) {
                      if (!block->sources.empty() && wanted(key, key)) {
                        found.emplace_back(key, block.get());
                      }
                    });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

}  // namespace voxloc::cpu
