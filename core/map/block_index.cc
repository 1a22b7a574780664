// SPDX-License-Identifier: Apache-2.0

#include "core/map/block_index.h"

namespace voxloc {
namespace {

constexpr int64_t kMaxTableBlocks = int64_t{1} << 22;

}  // namespace

BlockIndex::BlockIndex(const CellKey& first, const CellKey& last) : first_(first), last_(last) {
  size_x_ = int64_t{last.x} - first.x + 1;
  size_y_ = int64_t{last.y} - first.y + 1;
  const int64_t size_z = int64_t{last.z} - first.z + 1;
  // Block indices stay below 2^25, so the product of two sizes fits 64 bits.
  if (size_x_ * size_y_ <= kMaxTableBlocks && size_x_ * size_y_ * size_z <= kMaxTableBlocks) {
    table_.assign(static_cast<size_t>(size_x_ * size_y_ * size_z), kNone);
  }
}

uint32_t BlockIndex::FindOrAddInHash(const CellKey& block) {
  const auto [it, inserted] = hash_.try_emplace(block, static_cast<uint32_t>(blocks_.size()));
  if (inserted) blocks_.push_back(block);
  return it->second;
}

uint32_t BlockIndex::FindInHash(const CellKey& block) const {
  const auto it = hash_.find(block);
  return it == hash_.end() ? kNone : it->second;
}

size_t BlockIndex::MemoryBytes() const {
  return table_.capacity() * sizeof(uint32_t) + blocks_.capacity() * sizeof(CellKey) +
         hash_.capacity() * (sizeof(CellKey) + sizeof(uint32_t) + 1);
}

}  // namespace voxloc
