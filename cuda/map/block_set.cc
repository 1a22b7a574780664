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

size_t BlockSet::BitIndex(const CellKey& block) const {
  return static_cast<size_t>(
      (block.x - box_.first.x) +
      box_.SizeX() * ((block.y - box_.first.y) + box_.SizeY() * (block.z - box_.first.z)));
}

void BlockSet::Insert(const CellKey& block) {
  if (!box_.Contains(block)) return;
  if (bits_.empty()) {
    hash_.FindOrAdd(block);
    return;
  }
  const size_t place = BitIndex(block);
  bits_[place / kWordBits] |= uint64_t{1} << (place % kWordBits);
}

void BlockSet::AddShifted(size_t places) {
  const size_t words = places / kWordBits;
  const size_t bits = places % kWordBits;
  const std::vector<uint64_t> before = bits_;
  const auto word = [&before](size_t i) { return i < before.size() ? before[i] : 0; };
  for (size_t i = 0; i < bits_.size(); ++i) {
    // What lies `places` before word i, which for the first words is nothing, and behind it. No
    // word is shifted by all its bits.
    const uint64_t low = i >= words ? word(i - words) << bits : 0;
    const uint64_t lower =
        i >= words + 1 && bits > 0 ? word(i - words - 1) >> (kWordBits - bits) : 0;
    const uint64_t high = word(i + words) >> bits;
    const uint64_t higher = bits > 0 ? word(i + words + 1) << (kWordBits - bits) : 0;
    bits_[i] |= low | lower | high | higher;
  }
}

bool BlockSet::Contains(const CellKey& block) const {
  if (!box_.Contains(block)) return false;
  if (bits_.empty()) return hash_.Find(block) != BlockIndex::kNone;
  const size_t place = BitIndex(block);
  return (bits_[place / kWordBits] >> (place % kWordBits) & 1U) != 0;
}

std::vector<CellKey> BlockSet::Blocks() const {
  std::vector<CellKey> blocks;
  if (bits_.empty()) {
    blocks = hash_.blocks();
    std::sort(blocks.begin(), blocks.end());
    return blocks;
  }
  size_t count = 0;
  for (const uint64_t word : bits_) count += static_cast<size_t>(__builtin_popcountll(word));
  blocks.reserve(count);
  const auto size_x = static_cast<size_t>(box_.SizeX());
  const auto size_y = static_cast<size_t>(box_.SizeY());
  // The row of the last block: divisions are for the first of each row.
  size_t row_begin = 0;
  int32_t y = box_.first.y;
  int32_t z = box_.first.z;
  for (size_t word = 0; word < bits_.size(); ++word) {
    for (uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1) {
      const size_t place = word * kWordBits + static_cast<size_t>(__builtin_ctzll(rest));
      if (place - row_begin >= size_x) {
        const size_t row = place / size_x;
        row_begin = row * size_x;
        y = box_.first.y + static_cast<int32_t>(row % size_y);
        z = box_.first.z + static_cast<int32_t>(row / size_y);
      }
      blocks.push_back({box_.first.x + static_cast<int32_t>(place - row_begin), y, z});
    }
  }
  return blocks;
}

BlockSet BlockSet::Dilated() const {
  BlockSet dilated(box_.Dilated());
  const std::vector<CellKey> blocks = Blocks();
  if (dilated.bits_.empty()) {
    for (const CellKey& block : blocks) {
      for (int32_t n = 0; n < 27; ++n) {
        dilated.hash_.FindOrAdd(
            {block.x + n % 3 - 1, block.y + n / 3 % 3 - 1, block.z + n / 9 - 1});
      }
    }
    return dilated;
  }
  for (const CellKey& block : blocks) dilated.Insert(block);
  // Along one axis after the other. The box has an empty margin on each side, so that nothing is
  // shifted from one row, or one layer, into the next.
  const auto row = static_cast<size_t>(dilated.box_.SizeX());
  dilated.AddShifted(1);
  dilated.AddShifted(row);
  dilated.AddShifted(row * static_cast<size_t>(dilated.box_.SizeY()));
  return dilated;
}

}  // namespace voxloc::cuda
