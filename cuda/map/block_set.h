// SPDX-License-Identifier: Apache-2.0
//
// Boxes and sets of blocks, on the host. Plain values.

#ifndef VOXLOC_CUDA_MAP_BLOCK_SET_H_
#define VOXLOC_CUDA_MAP_BLOCK_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/map/block_map.h"
#include "core/map/lattice.h"

namespace voxloc::cuda {

inline CellKey ComponentMin(const CellKey& a, const CellKey& b) {
  return {std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)};
}
inline CellKey ComponentMax(const CellKey& a, const CellKey& b) {
  return {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)};
}

// From `first` to `last`, both included, on every axis; empty at first.
struct BlockBox {
  CellKey first{INT32_MAX, INT32_MAX, INT32_MAX};
  CellKey last{INT32_MIN, INT32_MIN, INT32_MIN};

  [[nodiscard]] bool empty() const { return first.x > last.x; }
  void Include(const CellKey& block) {
    first = ComponentMin(first, block);
    last = ComponentMax(last, block);
  }
  void Include(const BlockBox& box) {
    if (box.empty()) return;
    Include(box.first);
    Include(box.last);
  }
  [[nodiscard]] bool Contains(const CellKey& block) const {
    return block.x >= first.x && block.x <= last.x && block.y >= first.y && block.y <= last.y &&
           block.z >= first.z && block.z <= last.z;
  }
  [[nodiscard]] bool Contains(const BlockBox& box) const {
    return box.empty() || (Contains(box.first) && Contains(box.last));
  }
  [[nodiscard]] bool Intersects(const BlockBox& box) const {
    return !empty() && !box.empty() && first.x <= box.last.x && box.first.x <= last.x &&
           first.y <= box.last.y && box.first.y <= last.y && first.z <= box.last.z &&
           box.first.z <= last.z;
  }
  // With one block more on every side.
  [[nodiscard]] BlockBox Dilated() const {
    if (empty()) return *this;
    return {{first.x - 1, first.y - 1, first.z - 1}, {last.x + 1, last.y + 1, last.z + 1}};
  }
  // Blocks along each axis.
  [[nodiscard]] int64_t SizeX() const { return int64_t{last.x} - first.x + 1; }
  [[nodiscard]] int64_t SizeY() const { return int64_t{last.y} - first.y + 1; }
  [[nodiscard]] int64_t SizeZ() const { return int64_t{last.z} - first.z + 1; }
};

// Blocks within a box: a bit each where the box is small, a hash where it is not.
class BlockSet {
 public:
  explicit BlockSet(const BlockBox& box);

  // Blocks outside the box are ignored.
  void Insert(const CellKey& block);
  [[nodiscard]] bool Contains(const CellKey& block) const;
  // Ascending by key.
  [[nodiscard]] std::vector<CellKey> Blocks() const;
  // The blocks of this set and all around them, in a box that is larger by one on every side.
  [[nodiscard]] BlockSet Dilated() const;
  [[nodiscard]] const BlockBox& box() const { return box_; }

 private:
  [[nodiscard]] size_t BitIndex(const CellKey& block) const;
  // bits_ |= bits_ << places | bits_ >> places
  void AddShifted(size_t places);

  BlockBox box_;
  std::vector<uint64_t> bits_;  // x fastest; empty where the hash is used
  BlockIndex hash_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_BLOCK_SET_H_
