// SPDX-License-Identifier: Apache-2.0

#include "core/map/block_map.h"

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
  if (const uint32_t* const number = hash_.Find(block); number != nullptr) return *number;
  const uint32_t number = Add(block);
  hash_.Insert(block, number);
  return number;
}

uint32_t BlockIndex::FindInHash(const CellKey& block) const {
  const uint32_t* const number = hash_.Find(block);
  return number == nullptr ? kNone : *number;
}

size_t BlockIndex::MemoryBytes() const {
  return table_.capacity() * sizeof(uint32_t) + blocks_.capacity() * sizeof(CellKey) +
         hash_.MemoryBytes();
}

}  // namespace voxloc
