// SPDX-License-Identifier: Apache-2.0
//
// BlockIndex: numbers the blocks of a region in the order in which they are added, and finds
// their numbers again. Regions of up to four million blocks use a table, larger ones a hash.
// Finding is thread-safe, adding is not.

#ifndef VOXLOC_CORE_MAP_BLOCK_INDEX_H_
#define VOXLOC_CORE_MAP_BLOCK_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {

class BlockIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffffU;

  BlockIndex() = default;
  // For blocks between `first` and `last`, both included, on every axis.
  BlockIndex(const CellKey& first, const CellKey& last);

  // The block's number, a new one where it has none. It must lie within the region.
  uint32_t FindOrAdd(const CellKey& block) {
    if (table_.empty()) return FindOrAddInHash(block);
    uint32_t& number = table_[TableIndex(block)];
    if (number == kNone) number = Add(block);
    return number;
  }

  // The block's number, or kNone, also for blocks outside the region.
  [[nodiscard]] uint32_t Find(const CellKey& block) const {
    if (table_.empty()) return FindInHash(block);
    if (block.x < first_.x || block.x > last_.x || block.y < first_.y || block.y > last_.y ||
        block.z < first_.z || block.z > last_.z) {
      return kNone;
    }
    return table_[TableIndex(block)];
  }

  // The blocks by number.
  [[nodiscard]] const std::vector<CellKey>& blocks() const { return blocks_; }
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  [[nodiscard]] size_t TableIndex(const CellKey& block) const {
    return static_cast<size_t>((block.x - first_.x) +
                               size_x_ * ((block.y - first_.y) + size_y_ * (block.z - first_.z)));
  }
  uint32_t Add(const CellKey& block) {
    blocks_.push_back(block);
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  uint32_t FindOrAddInHash(const CellKey& block);
  [[nodiscard]] uint32_t FindInHash(const CellKey& block) const;

  CellKey first_;
  CellKey last_;
  int64_t size_x_ = 0;
  int64_t size_y_ = 0;
  std::vector<uint32_t> table_;
  FlatTable<CellKey, uint32_t> hash_;
  std::vector<CellKey> blocks_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_BLOCK_INDEX_H_
