// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/neighborhood_cache.h"

#include <algorithm>
#include <tuple>

namespace voxloc::cpu {
namespace {

constexpr size_t kReadAhead = 8;
constexpr uint32_t kNeighbors = 27;
constexpr uint32_t kRowMask = 7;  // the three neighbours along x

// Steps from a lattice cell to its neighbour, along an axis.
int StepX(uint32_t neighbor) { return static_cast<int>(neighbor % 3) - 1; }
int StepY(uint32_t neighbor) { return static_cast<int>(neighbor / 3 % 3) - 1; }
int StepZ(uint32_t neighbor) { return static_cast<int>(neighbor / 9) - 1; }

bool IsSearched(uint32_t neighbor, NeighborSearch search) {
  const int faces = StepX(neighbor) * StepX(neighbor) + StepY(neighbor) * StepY(neighbor) +
                    StepZ(neighbor) * StepZ(neighbor);
  switch (search) {
    case NeighborSearch::kRadius:
      return true;
    case NeighborSearch::kDirect7:
      return faces <= 1;
    case NeighborSearch::kDirect1:
      return faces == 0;
  }
  return false;
}

}  // namespace

void NeighborhoodCache::Reset(const GaussianGrid* grid, NeighborSearch search) {
  grid_ = grid;
  searched_ = 0;
  const auto cell_size = static_cast<float>(grid->cell_size_m());
  for (uint32_t i = 0; i < kNeighbors; ++i) {
    if (IsSearched(i, search)) searched_ |= 1U << i;
    shifts_[i][0] = static_cast<float>(StepX(i)) * cell_size;
    shifts_[i][1] = static_cast<float>(StepY(i)) * cell_size;
    shifts_[i][2] = static_cast<float>(StepZ(i)) * cell_size;
  }
  lists_.Clear();
  blocks_ = {};
  size_ = 0;
  longest_ = 0;
}

NeighborhoodCache::List NeighborhoodCache::Find(const CellKey& key) {
  if (const List* const known = lists_.Find(key); known != nullptr) return *known;
  const List list = Build(key);
  lists_.Insert(key, list);
  return list;
}

// The neighbourhood spans at most two blocks along each axis. What is occupied of it is gathered as
// bits first, without a branch: which of its cells are, no processor can predict.
NeighborhoodCache::List NeighborhoodCache::Build(const CellKey& key) {
  const CellKey low = BlockOf({key.x - 1, key.y - 1, key.z - 1});
  const CellKey high = BlockOf({key.x + 1, key.y + 1, key.z + 1});
  // By z, y and x; where there is only one along an axis, it stands for both.
  const GaussianBlock* blocks[2][2][2];
  for (int32_t z = 0; z < 2; ++z) {
    if (z == 1 && high.z == low.z) {
      std::copy_n(&blocks[0][0][0], 4, &blocks[1][0][0]);
      break;
    }
    for (int32_t y = 0; y < 2; ++y) {
      if (y == 1 && high.y == low.y) {
        std::copy_n(blocks[z][0], 2, blocks[z][1]);
        break;
      }
      blocks[z][y][0] = &BlockAt({low.x, low.y + y, low.z + z});
      blocks[z][y][1] =
          high.x == low.x ? blocks[z][y][0] : &BlockAt({high.x, low.y + y, low.z + z});
    }
  }
  // Of the three cells along x, the first `in_low` lie in the low block.
  const uint32_t place_x = static_cast<uint32_t>(key.x - 1) % kBlockSize;
  const uint32_t in_low = std::min<uint32_t>(3, kBlockSize - place_x);
  const uint32_t high_mask = kRowMask >> in_low;
  uint32_t occupied = 0;
  for (uint32_t row = 0; row < kNeighbors / 3; ++row) {
    const int32_t y = key.y + StepY(3 * row);
    const int32_t z = key.z + StepZ(3 * row);
    const auto& along_x = blocks[(z >> kBlockBits) - low.z][(y >> kBlockBits) - low.y];
    const uint32_t row_in_block = PlaceInBlock({0, y, z}) / kBlockSize;
    const uint32_t bits = (along_x[0]->places.Row(row_in_block) >> place_x & kRowMask) |
                          ((along_x[1]->places.Row(row_in_block) & high_mask) << in_low);
    occupied |= bits << (3 * row);
  }
  List list;
  list.begin = size_;
  for (uint32_t rest = occupied & searched_; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<uint32_t>(__builtin_ctz(rest));
    const CellKey cell = {key.x + StepX(i), key.y + StepY(i), key.z + StepZ(i)};
    const CellKey at = BlockOf(cell);
    const GaussianBlock& block = *blocks[at.z - low.z][at.y - low.y][at.x - low.x];
    Append(i, block.AtRank(block.places.Rank(PlaceInBlock(cell))));
  }
  list.count = size_ - list.begin;
  longest_ = std::max(longest_, list.count);
  return list;
}

const GaussianBlock& NeighborhoodCache::BlockAt(const CellKey& key) {
  static const GaussianBlock kNone;
  static_assert(std::tuple_size_v<decltype(blocks_)> == 32, "of 4 x 4 x 2 blocks");
  KnownBlock& known =
      blocks_[static_cast<uint32_t>((key.x & 3) | (key.y & 3) << 2 | (key.z & 1) << 4)];
  if (!known.known || !(known.key == key)) {
    const GaussianBlock* const found = grid_->Find(key);
    known = {key, true, found != nullptr ? found : &kNone};
  }
  return *known.block;
}

void NeighborhoodCache::Append(uint32_t neighbor, absl::Span<const GaussianRecord> run) {
  const size_t needed = size_t{size_} + run.size() + kReadAhead;
  if (needed > cells_.size()) Grow(needed);
  const float(&shift)[3] = shifts_[neighbor];
  for (const GaussianRecord& record : run) {
    index_x_[size_] = record.index[0] + shift[0];
    index_y_[size_] = record.index[1] + shift[1];
    index_z_[size_] = record.index[2] + shift[2];
    cells_[size_] = {
        {record.mean[0] + shift[0], record.mean[1] + shift[1], record.mean[2] + shift[2]}, &record};
    ++size_;
  }
}

void NeighborhoodCache::Grow(size_t needed) {
  const size_t capacity = std::max<size_t>({1024, 2 * cells_.size(), needed});
  index_x_.resize(capacity);
  index_y_.resize(capacity);
  index_z_.resize(capacity);
  cells_.resize(capacity);
}

}  // namespace voxloc::cpu
