// SPDX-License-Identifier: Apache-2.0
//
// NeighborhoodCache: for every lattice cell that points of a scan have met, the list of cells they
// may match. A point stays in its lattice cell for most of an alignment, and neighbouring points
// share one, so each list is put together once. Not thread-safe: each chunk of points has its own.

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

  // Forgets everything; memory is kept. `grid` must outlive the use of the lists.
  void Reset(const GaussianGrid* grid, NeighborSearch search);

  [[nodiscard]] List Find(const CellKey& key);

  // Valid until the next Find.
  [[nodiscard]] CandidateArrays arrays() const {
    return {index_x_.data(), index_y_.data(), index_z_.data(), cells_.data()};
  }
  // Candidates held, in all lists.
  [[nodiscard]] uint32_t size() const { return size_; }
  // Length of the longest list so far.
  [[nodiscard]] uint32_t longest() const { return longest_; }

 private:
  // A block that was found, where `known`.
  struct KnownBlock {
    CellKey key;
    bool known = false;
    const GaussianBlock* block = nullptr;
  };

  List Build(const CellKey& key);
  // The block, or one without a Gaussian where the grid has none.
  const GaussianBlock& BlockAt(const CellKey& key);
  // Appends what is found in the neighbour of this number, of 27: x fastest, then y, then z.
  void Append(uint32_t neighbor, absl::Span<const GaussianRecord> run);
  void Grow(size_t needed);

  const GaussianGrid* grid_ = nullptr;
  uint32_t searched_ = 0;     // a bit for each of the 27 neighbours
  float shifts_[27][3] = {};  // of their low corners from that of the lattice cell, m
  FlatTable<CellKey, List> lists_;
  // Neighbouring points lie in the same few blocks: these, by the low bits of their keys.
  std::array<KnownBlock, 32> blocks_;
  uint32_t size_ = 0;
  uint32_t longest_ = 0;
  // Longer than size_ by what the kernels may read past a list's end.
  std::vector<float> index_x_;
  std::vector<float> index_y_;
  std::vector<float> index_z_;
  std::vector<CandidateCell> cells_;
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_NEIGHBORHOOD_CACHE_H_
