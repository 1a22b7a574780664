// SPDX-License-Identifier: Apache-2.0
//
// PlaceSet: a set of places in a block of 8 x 8 x 8, and how many of them lie before a place: what
// an array without gaps needs to be found by place. A plain value; any thread may read it.

#ifndef VOXLOC_CORE_MAP_PLACE_SET_H_
#define VOXLOC_CORE_MAP_PLACE_SET_H_

#include <cstdint>

#include "core/map/lattice.h"

namespace voxloc {

class PlaceSet {
 public:
  // Ranks are right once all places have been inserted and Count was called.
  void Insert(uint32_t place) {
    rows_[place / kBlockSize] =
        static_cast<uint8_t>(rows_[place / kBlockSize] | (1U << (place % kBlockSize)));
  }
  void Count() {
    uint32_t before = 0;
    for (uint32_t row = 0; row < kRows; ++row) {
      before_[row] = static_cast<uint16_t>(before);
      before += kBitCount.of[rows_[row]];
    }
    size_ = static_cast<uint16_t>(before);
  }

  [[nodiscard]] bool Contains(uint32_t place) const {
    return (Row(place / kBlockSize) >> (place % kBlockSize) & 1U) != 0;
  }
  // How many places of the set lie before this one.
  [[nodiscard]] uint32_t Rank(uint32_t place) const {
    const uint32_t row = place / kBlockSize;
    return before_[row] + kBitCount.of[rows_[row] & ((1U << (place % kBlockSize)) - 1)];
  }
  // The eight places of a row along x, from place 8 row on, as bits.
  [[nodiscard]] uint32_t Row(uint32_t row) const { return rows_[row]; }
  [[nodiscard]] uint32_t size() const { return size_; }

  // Calls visit(place) for each place, ascending.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t rest = rows_[row]; rest != 0; rest &= rest - 1) {
        visit(row * kBlockSize + static_cast<uint32_t>(__builtin_ctz(rest)));
      }
    }
  }

 private:
  static constexpr uint32_t kRows = kBlockCells / kBlockSize;
  // A processor may lack an instruction for it.
  struct BitCount {
    uint8_t of[256] = {};
    constexpr BitCount() {
      for (uint32_t bits = 1; bits < 256; ++bits) {
        of[bits] = static_cast<uint8_t>(of[bits / 2] + bits % 2);
      }
    }
  };
  static const BitCount kBitCount;

  uint8_t rows_[kRows] = {};
  uint16_t before_[kRows] = {};
  uint16_t size_ = 0;
};

inline constexpr PlaceSet::BitCount PlaceSet::kBitCount{};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_PLACE_SET_H_
