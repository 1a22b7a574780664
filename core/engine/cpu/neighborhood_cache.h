// SPDX-License-Identifier: Apache-2.0
//
// NeighborhoodCache: for every lattice cell that points have met, the list of cells they may match.
// A point stays in its lattice cell for most of an alignment, neighbouring points share one, and
// the next scan of a vehicle meets most of them again, so each list is put together once. A list
// depends on nothing but the grid, the search and the lattice cell. Not thread-safe.

#ifndef VOXLOC_CORE_ENGINE_CPU_NEIGHBORHOOD_CACHE_H_
#define VOXLOC_CORE_ENGINE_CPU_NEIGHBORHOOD_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/container/flat_table.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/engine/cpu/kernels.h"
#include "core/engine/profile.h"

namespace voxloc::cpu {

class NeighborhoodCache {
 public:
  struct List {
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  // Sets the grid and the search of the lists. Clears the lists if either has changed. `grid` must
  // outlive the use of the lists.
  void Use(const GaussianGrid& grid, NeighborSearch search);
  // Clears all lists if lists + candidates > most (an empty list takes memory too). Memory for a
  // few times as many entries is kept for reuse; more than that is freed.
  void ClearIfLarger(size_t most);

  // Incremented whenever the lists are cleared. Not 0 once a grid is set.
  [[nodiscard]] uint64_t generation() const { return generation_; }

  [[nodiscard]] List Find(const CellKey& key);

  // Valid until the next Find.
  [[nodiscard]] CandidateArrays arrays() const {
    return {index_x_.data(), index_y_.data(), index_z_.data(), cells_.data()};
  }
  // Candidates held, in all lists.
  [[nodiscard]] uint32_t size() const { return size_; }

 private:
  // A block that was found, where `known`.
  struct CachedBlock {
    CellKey key;
    bool known = false;
    const GaussianBlock* block = nullptr;
  };

  void Clear();
  List Build(const CellKey& key);
  // The block, or one without a Gaussian where the grid has none.
  const GaussianBlock& BlockAt(const CellKey& key);
  // Appends what is found in the lattice cells of this block from `place` on, along x, whose bits
  // are set: all that have Gaussians, up to the last of them. The first is the neighbour of this
  // number.
  void AppendRow(const GaussianBlock& block, uint32_t place, uint32_t bits, uint32_t neighbor);
  // Appends what is found in the neighbour of this number, of 27: x fastest, then y, then z; but
  // not what lies farther from the whole lattice cell than the search reaches.
  void Append(uint32_t neighbor, absl::Span<const GaussianRecord> run);
  void Grow(size_t needed);

  const GaussianGrid* grid_ = nullptr;
  uint64_t grid_id_ = 0;
  NeighborSearch search_ = NeighborSearch::kRadius;
  uint64_t generation_ = 0;
  float cell_size_m_ = 0.0F;
  float squared_reach_m2_ = 0.0F;  // infinite where the search has no radius
  uint32_t searched_ = 0;          // a bit for each of the 27 neighbours
  float shifts_[27][4] = {};       // of their low corners from that of the lattice cell, m
  FlatTable<CellKey, List> lists_;
  // Neighbouring points lie in the same few blocks: these, by the low bits of their keys.
  std::array<CachedBlock, 32> blocks_;
  uint32_t size_ = 0;
  // Longer than size_ by what the kernels may read past a list's end.
  std::vector<float> index_x_;
  std::vector<float> index_y_;
  std::vector<float> index_z_;
  std::vector<CandidateCell> cells_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_NEIGHBORHOOD_CACHE_H_
