// SPDX-License-Identifier: Apache-2.0
//
// GaussianBlock: one block of a map on the CPU engine: its Gaussians in the layout of the hot loop,
// and the sources they were built from, so that the next revision of the map can check whether they
// are unchanged. Immutable once it belongs to a map; maps share it.

#ifndef VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_BLOCK_H_
#define VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/cpu/kernels.h"
#include "core/map/cells.h"
#include "core/map/lattice.h"
#include "core/map/place_set.h"

namespace voxloc::cpu {

struct GaussianBlock {
  // All that tiles have of points in this block, in the map's order of tiles.
  std::vector<CellSource> sources;
  // A Gaussian is found in the lattice cell of its index position, which may lie in another block
  // than its points. Both ascend and are nearly always empty: other blocks in which Gaussians of
  // this block's points are found, and other blocks of whose points Gaussians are found here.
  std::vector<CellKey> spill_targets;
  std::vector<CellKey> spill_sources;

  // The Gaussians found here, by lattice cell; those of one lattice cell by the block of their
  // points, then by place, then by tile.
  PlaceSet places;               // of the lattice cells that have any
  std::vector<uint32_t> begins;  // by rank of the place: its first record; and the end
  std::vector<GaussianRecord> records;

  // Those in the lattice cell whose place has this rank.
  [[nodiscard]] absl::Span<const GaussianRecord> AtRank(uint32_t rank) const {
    return {records.data() + begins[rank], begins[rank + 1] - begins[rank]};
  }
  [[nodiscard]] size_t MemoryBytes() const;
};

// Fills in the Gaussians that are found in block `key` of these cells; those of one lattice cell
// keep their order. Returns the other blocks in which some of them are found, ascending.
std::vector<CellKey> PlaceGaussians(const CellKey& key, absl::Span<const MapCell> cells,
                                    double cell_size_m, GaussianBlock& block);

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_BLOCK_H_
