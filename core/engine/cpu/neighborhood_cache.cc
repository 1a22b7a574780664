// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/neighborhood_cache.h"

#include <algorithm>

namespace voxloc::cpu {
namespace {

constexpr size_t kReadAhead = 8;
}  // namespace

void NeighborhoodCache::Reset(const GaussianGrid* grid, NeighborSearch search) {
  grid_ = grid;
  search_ = search;
  lists_.Clear();
  size_ = 0;
  longest_ = 0;
}

NeighborhoodCache::List NeighborhoodCache::Find(const CellKey& key) {
  if (const List* const known = lists_.Find(key); known != nullptr) return *known;
  const List list = Build(key);
  lists_.Insert(key, list);
  return list;
}

NeighborhoodCache::List NeighborhoodCache::Build(const CellKey& key) {
  constexpr int kOwn = 13;
  GaussianGrid::Run runs[27];
  if (search_ == NeighborSearch::kDirect1) {
    runs[kOwn] = grid_->CellsIn(key);
  } else {
    grid_->CellsAround(key, runs);
  }
  uint32_t most = 0;
  for (const GaussianGrid::Run& run : runs) most += run.end - run.begin;
  Reserve(most);
  const auto cell_size = static_cast<float>(grid_->cell_size_m());
  List list;
  list.begin = size_;
  uint32_t at = size_;
  for (int i = 0; i < 27; ++i) {
    if (runs[i].begin == runs[i].end) continue;
    const int dx = i % 3 - 1;
    const int dy = i / 3 % 3 - 1;
    const int dz = i / 9 - 1;
    const int faces = dx * dx + dy * dy + dz * dz;
    if (search_ == NeighborSearch::kDirect7 && faces > 1) continue;
    const float shift[3] = {static_cast<float>(dx) * cell_size, static_cast<float>(dy) * cell_size,
                            static_cast<float>(dz) * cell_size};
    for (uint32_t cell = runs[i].begin; cell < runs[i].end; ++cell, ++at) {
      const GaussianGrid::Position& position = grid_->position(cell);
      index_x_[at] = position.index[0] + shift[0];
      index_y_[at] = position.index[1] + shift[1];
      index_z_[at] = position.index[2] + shift[2];
      cells_[at] = {
          {position.mean[0] + shift[0], position.mean[1] + shift[1], position.mean[2] + shift[2]},
          cell};
    }
  }
  size_ = at;
  list.count = size_ - list.begin;
  longest_ = std::max(longest_, list.count);
  return list;
}

void NeighborhoodCache::Reserve(uint32_t more) {
  const size_t needed = size_t{size_} + more + kReadAhead;
  if (needed <= cells_.size()) return;
  const size_t capacity = std::max<size_t>({1024, 2 * cells_.size(), needed});
  index_x_.resize(capacity);
  index_y_.resize(capacity);
  index_z_.resize(capacity);
  cells_.resize(capacity);
}

}  // namespace voxloc::cpu
