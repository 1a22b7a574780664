// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/neighborhood_cache.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace voxloc::cpu {
namespace {

constexpr size_t kReadPadding = 8;
// Beyond the rounding of distances in float32, relative.
constexpr float kReachMargin = 1e-5F;
// Memory is freed only above this multiple of the limit: the next scan may need as much as the
// last.
constexpr size_t kShrinkFactor = 4;
constexpr uint32_t kNeighbors = 27;
constexpr uint32_t kRowMask = 7;  // the three neighbours along x
constexpr uint8_t kRowOf[kNeighbors] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4,
                                        4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8};

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

void NeighborhoodCache::Use(const GaussianGrid& grid, NeighborSearch search) {
  grid_ = &grid;
  if (grid.id() == grid_id_ && search == search_) return;
  grid_id_ = grid.id();
  search_ = search;
  searched_ = 0;
  const auto cell_size = static_cast<float>(grid.cell_size_m());
  cell_size_m_ = cell_size;
  squared_reach_m2_ = search == NeighborSearch::kRadius
                          ? cell_size * cell_size * (1.0F + kReachMargin)
                          : std::numeric_limits<float>::infinity();
  for (uint32_t i = 0; i < kNeighbors; ++i) {
    if (IsSearched(i, search)) searched_ |= 1U << i;
    shifts_[i][0] = static_cast<float>(StepX(i)) * cell_size;
    shifts_[i][1] = static_cast<float>(StepY(i)) * cell_size;
    shifts_[i][2] = static_cast<float>(StepZ(i)) * cell_size;
  }
  Clear();
}

void NeighborhoodCache::ClearIfLarger(size_t most) {
  const size_t entries = size_ + lists_.size();
  if (entries <= most) return;
  Clear();
  if (entries / kShrinkFactor <= most) return;
  lists_ = {};
  index_x_ = {};
  index_y_ = {};
  index_z_ = {};
  cells_ = {};
}

void NeighborhoodCache::Clear() {
  lists_.Clear();
  blocks_ = {};
  size_ = 0;
  ++generation_;
}

NeighborhoodCache::List NeighborhoodCache::Find(const CellKey& key) {
  if (const List* const known = lists_.Find(key); known != nullptr) return *known;
  const List list = Build(key);
  lists_.Insert(key, list);
  return list;
}

// The neighbourhood spans at most two blocks along each axis. Its occupied cells are first gathered
// as bits without branches, which would be mispredicted.
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
  for (uint32_t rest = occupied; rest != 0;) {
    const uint32_t row = kRowOf[__builtin_ctz(rest)];
    const int32_t y = key.y + StepY(3 * row);
    const int32_t z = key.z + StepZ(3 * row);
    const auto& along_x = blocks[(z >> kBlockBits) - low.z][(y >> kBlockBits) - low.y];
    const uint32_t bits = rest >> (3 * row) & kRowMask;
    rest &= ~(kRowMask << (3 * row));
    const uint32_t begin_of_row = PlaceInBlock({0, y, z});
    const uint32_t low_bits = bits & ((1U << in_low) - 1);
    if (low_bits != 0) AppendRow(*along_x[0], begin_of_row + place_x, low_bits, 3 * row);
    if (low_bits != bits) {
      AppendRow(*along_x[1], begin_of_row, bits >> in_low, 3 * row + in_low);
    }
  }
  list.count = size_ - list.begin;
  return list;
}

const GaussianBlock& NeighborhoodCache::BlockAt(const CellKey& key) {
  static const GaussianBlock kNone;
  static_assert(std::tuple_size_v<decltype(blocks_)> == 32, "of 4 x 4 x 2 blocks");
  CachedBlock& known =
      blocks_[static_cast<uint32_t>((key.x & 3) | (key.y & 3) << 2 | (key.z & 1) << 4)];
  if (!known.known || !(known.key == key)) {
    const GaussianBlock* const found = grid_->Find(key);
    known = {key, true, found != nullptr ? found : &kNone};
  }
  return *known.block;
}

void NeighborhoodCache::AppendRow(const GaussianBlock& block, uint32_t place, uint32_t bits,
                                  uint32_t neighbor) {
  for (uint32_t rank = block.places.Rank(place); bits != 0; bits >>= 1, ++neighbor) {
    if ((bits & 1U) == 0) continue;
    if ((searched_ >> neighbor & 1U) != 0) Append(neighbor, block.AtRank(rank));
    ++rank;
  }
}

// Each record is written; if it is too far away, the next one overwrites it. A branch instead would
// be mispredicted.
void NeighborhoodCache::Append(uint32_t neighbor, absl::Span<const GaussianRecord> run) {
  const size_t needed = size_t{size_} + run.size() + kReadPadding;
  if (needed > cells_.size()) Grow(needed);
  float* const index_x = index_x_.data();
  float* const index_y = index_y_.data();
  float* const index_z = index_z_.data();
  CandidateCell* const cells = cells_.data();
  const float(&shift)[4] = shifts_[neighbor];
  uint32_t size = size_;
  for (const GaussianRecord& record : run) {
    float index[4];  // four, of which three count: a register's width
    float squared_m2[4];
    for (int axis = 0; axis < 4; ++axis) {
      index[axis] = (axis < 3 ? record.index[axis] : 0.0F) + shift[axis];
      const float outside = std::max(std::max(-index[axis], index[axis] - cell_size_m_), 0.0F);
      squared_m2[axis] = outside * outside;
    }
    index_x[size] = index[0];
    index_y[size] = index[1];
    index_z[size] = index[2];
    cells[size] = {
        {record.mean[0] + shift[0], record.mean[1] + shift[1], record.mean[2] + shift[2]}, &record};
    size += squared_m2[0] + squared_m2[1] + squared_m2[2] <= squared_reach_m2_ ? 1U : 0U;
  }
  size_ = size;
}

void NeighborhoodCache::Grow(size_t needed) {
  const size_t capacity = std::max<size_t>({1024, 2 * cells_.size(), needed});
  index_x_.resize(capacity);
  index_y_.resize(capacity);
  index_z_.resize(capacity);
  cells_.resize(capacity);
}

}  // namespace voxloc::cpu
