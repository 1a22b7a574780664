// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/block_set.h"

namespace voxloc::cuda {
namespace {

constexpr int64_t kMaxBits = int64_t{1} << 26;
constexpr size_t kWordBits = 64;

bool IsSmall(const BlockBox& box) {
  if (box.SizeX() > kMaxBits || box.SizeY() > kMaxBits || box.SizeZ() > kMaxBits) return false;
  const int64_t layer = box.SizeX() * box.SizeY();
  return layer <= kMaxBits && layer * box.SizeZ() <= kMaxBits;
}

}  // namespace

BlockSet::BlockSet(const BlockBox& box) : box_(box) {
  if (box.empty() || !IsSmall(box)) return;
  const auto blocks = static_cast<size_t>(box.SizeX() * box.SizeY() * box.SizeZ());
  bits_.resize((blocks + kWordBits - 1) / kWordBits);
}

size_t BlockSet::PlaceOf(const CellKey& block) const {
  return static_cast<size_t>(
      (block.x - box_.first.x) +
      box_.SizeX() * ((block.y - box_.first.y) + box_.SizeY() * (block.z - box_.first.z)));
}

void BlockSet::Insert(const CellKey& block) {
  if (!box_.Contains(block)) return;
  if (bits_.empty()) {
    hash_.insert(block);
    return;
  }
  const size_t place = PlaceOf(block);
  bits_[place / kWordBits] |= uint64_t{1} << (place % kWordBits);
}

void BlockSet::InsertWithNeighbors(const CellKey& block) {
  for (int32_t dz = -1; dz <= 1; ++dz) {
    for (int32_t dy = -1; dy <= 1; ++dy) {
      for (int32_t dx = -1; dx <= 1; ++dx) Insert({block.x + dx, block.y + dy, block.z + dz});
    }
  }
}

bool BlockSet::Contains(const CellKey& block) const {
  if (!box_.Contains(block)) return false;
  if (bits_.empty()) return hash_.contains(block);
  const size_t place = PlaceOf(block);
  return (bits_[place / kWordBits] >> (place % kWordBits) & 1U) != 0;
}

std::vector<CellKey> BlockSet::Blocks() const {
  std::vector<CellKey> blocks;
  if (bits_.empty()) {
    blocks.assign(hash_.begin(), hash_.end());
    std::sort(blocks.begin(), blocks.end());
    return blocks;
  }
  const auto size_x = static_cast<size_t>(box_.SizeX());
  const auto size_y = static_cast<size_t>(box_.SizeY());
  for (size_t word = 0; word < bits_.size(); ++word) {
    for (uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1) {
      const size_t place = word * kWordBits + static_cast<size_t>(__builtin_ctzll(rest));
      blocks.push_back({box_.first.x + static_cast<int32_t>(place % size_x),
                        box_.first.y + static_cast<int32_t>(place / size_x % size_y),
                        box_.first.z + static_cast<int32_t>(place / size_x / size_y)});
    }
  }
  return blocks;
}

BlockSet BlockSet::Dilated() const {
  BlockSet dilated(box_.Dilated());
  for (const CellKey& block : Blocks()) dilated.InsertWithNeighbors(block);
  return dilated;
}

}  // namespace voxloc::cuda
