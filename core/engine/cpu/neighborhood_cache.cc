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
  lists_.clear();
  size_ = 0;
  longest_ = 0;
}

NeighborhoodCache::List NeighborhoodCache::Find(const CellKey& key) {
  const auto [it, inserted] = lists_.try_emplace(key);
  if (inserted) it->second = Build(key);
  return it->second;
}

NeighborhoodCache::List NeighborhoodCache::Build(const CellKey& key) {
  GaussianGrid::Run runs[27];
  grid_->CellsAround(key, runs);
  const auto cell_size = static_cast<float>(grid_->cell_size_m());
  List list;
  list.begin = size_;
  for (int i = 0; i < 27; ++i) {
    const int dx = i % 3 - 1;
    const int dy = i / 3 % 3 - 1;
    const int dz = i / 9 - 1;
    const int faces = dx * dx + dy * dy + dz * dz;
    if (search_ == NeighborSearch::kDirect1 && faces > 0) continue;
    if (search_ == NeighborSearch::kDirect7 && faces > 1) continue;
    for (uint32_t cell = runs[i].begin; cell < runs[i].end; ++cell) {
      Append(cell, static_cast<float>(dx) * cell_size, static_cast<float>(dy) * cell_size,
             static_cast<float>(dz) * cell_size);
    }
  }
  list.count = size_ - list.begin;
  longest_ = std::max(longest_, list.count);
  return list;
}

void NeighborhoodCache::Append(uint32_t cell, float shift_x, float shift_y, float shift_z) {
  if (size_ + kReadAhead >= cells_.size()) {
    const size_t capacity = std::max<size_t>(1024, 2 * cells_.size());
    index_x_.resize(capacity);
    index_y_.resize(capacity);
    index_z_.resize(capacity);
    cells_.resize(capacity);
  }
  const Eigen::Vector3f& index = grid_->index_position(cell);
  const Eigen::Vector3f& mean = grid_->mean(cell);
  index_x_[size_] = index.x() + shift_x;
  index_y_[size_] = index.y() + shift_y;
  index_z_[size_] = index.z() + shift_z;
  cells_[size_] = {{mean.x() + shift_x, mean.y() + shift_y, mean.z() + shift_z}, cell};
  ++size_;
}

}  // namespace voxloc::cpu
