// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_grid.h"

#include <algorithm>
#include <atomic>

#include "core/map/cells.h"

namespace voxloc::cpu {
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
    return MayHoldMeans(first, last, cell_size_m_, min, max);
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
