// SPDX-License-Identifier: Apache-2.0
//
// The lattice of a map: cubic cells anchored at the map frame's origin. Cell (i, j, k) of a lattice
// of size c covers [i c, (i+1) c) on x and likewise on y and z, for any tiling. Cells are
// grouped into blocks of 8 x 8 x 8.

#ifndef VOXLOC_CORE_MAP_LATTICE_H_
#define VOXLOC_CORE_MAP_LATTICE_H_

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

namespace voxloc {

// A cell by its indices. Indices stay within +-2^27, which a map's extent limit ensures.
struct CellKey {
  int32_t x = 0;
  int32_t y = 0;
  int32_t z = 0;

  friend bool operator==(const CellKey& a, const CellKey& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
  // z, then y, then x: rows along x are contiguous.
  friend bool operator<(const CellKey& a, const CellKey& b) {
    if (a.z != b.z) return a.z < b.z;
    if (a.y != b.y) return a.y < b.y;
    return a.x < b.x;
  }
  template <typename H>
  friend H AbslHashValue(H h, const CellKey& key) {
    return H::combine(std::move(h), key.x, key.y, key.z);
  }
};

constexpr int kBlockBits = 3;
constexpr int kBlockSize = 1 << kBlockBits;                        // cells along an edge
constexpr int kBlockCells = kBlockSize * kBlockSize * kBlockSize;  // cells in a block
constexpr int32_t kMaxCellIndex = int32_t{1} << 27;

inline int32_t CellIndex(double coordinate_m, double inverse_cell_size) {
  return static_cast<int32_t>(std::floor(coordinate_m * inverse_cell_size));
}
inline CellKey CellOf(const Eigen::Vector3d& point_map, double cell_size_m) {
  const double inverse = 1.0 / cell_size_m;
  return {CellIndex(point_map.x(), inverse), CellIndex(point_map.y(), inverse),
          CellIndex(point_map.z(), inverse)};
}
inline Eigen::Vector3d CellCorner(const CellKey& key, double cell_size_m) {
  return Eigen::Vector3d(key.x, key.y, key.z) * cell_size_m;
}
inline Eigen::Vector3d CellCentre(const CellKey& key, double cell_size_m) {
  return (Eigen::Vector3d(key.x, key.y, key.z) + Eigen::Vector3d::Constant(0.5)) * cell_size_m;
}

// The block of a cell, itself a CellKey on the lattice of blocks, and the cell's place in it, x
// fastest.
inline CellKey BlockOf(const CellKey& cell) {
  return {cell.x >> kBlockBits, cell.y >> kBlockBits, cell.z >> kBlockBits};
}
inline uint32_t PlaceInBlock(const CellKey& cell) {
  constexpr int32_t kMask = kBlockSize - 1;
  return static_cast<uint32_t>((cell.x & kMask) | ((cell.y & kMask) << kBlockBits) |
                               ((cell.z & kMask) << (2 * kBlockBits)));
}
inline CellKey CellAt(const CellKey& block, uint32_t place) {
  constexpr uint32_t kMask = kBlockSize - 1;
  return {block.x * kBlockSize + static_cast<int32_t>(place & kMask),
          block.y * kBlockSize + static_cast<int32_t>((place >> kBlockBits) & kMask),
          block.z * kBlockSize + static_cast<int32_t>(place >> (2 * kBlockBits))};
}

// PlaceSet: a bit set of the places of a block with rank queries, which index a dense array of the
// values at these places. A plain value; any thread may read it.
class PlaceSet {
 public:
  // Rank and size are valid once BuildRanks has been called after the last Insert.
  void Insert(uint32_t place) {
    rows_[place / kBlockSize] =
        static_cast<uint8_t>(rows_[place / kBlockSize] | (1U << (place % kBlockSize)));
  }
  void BuildRanks() {
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
  // A table, since not every target processor has a popcount instruction.
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

#endif  // VOXLOC_CORE_MAP_LATTICE_H_
