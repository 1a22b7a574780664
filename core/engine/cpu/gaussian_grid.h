// SPDX-License-Identifier: Apache-2.0
//
// GaussianGrid: the Gaussians of a map on one lattice, found by the lattice cell of their index
// position, block by block. Immutable; any thread may read it. A successor shares the blocks that
// have not changed.

#ifndef VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_
#define VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/cpu/kernels.h"
#include "core/map/block_map.h"
#include "core/map/cells.h"
#include "core/map/lattice.h"
#include "core/map/tile_moments.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::cpu {

// GaussianBlock: one block of a map on the CPU engine: its Gaussians in the layout of the hot loop,
// and the sources they were built from, so that the next revision of the map can check whether they
// are unchanged. Immutable once it belongs to a map; maps share it.
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

class GaussianGrid {
 public:
  using Blocks = BlockMap<std::shared_ptr<const GaussianBlock>>;
  // Without a Gaussian.
  explicit GaussianGrid(double cell_size_m);

  // This grid with these blocks replaced, see BlockMap::With.
  [[nodiscard]] GaussianGrid With(std::vector<Blocks::Change> changes) const;

  // The same for copies of a grid, and different for all other grids of the process, so that cached
  // look-ups are valid for every grid with the same id. Never 0.
  [[nodiscard]] uint64_t id() const { return id_; }
  [[nodiscard]] double cell_size_m() const { return cell_size_m_; }
  [[nodiscard]] size_t size() const { return size_; }
  // Blocks that several grids share count in each of them.
  [[nodiscard]] size_t MemoryBytes() const { return block_bytes_ + blocks_.MemoryBytes(); }

  // Null where the block has neither points nor Gaussians. Valid as long as the grid and its
  // successors that share the block.
  [[nodiscard]] const GaussianBlock* Find(const CellKey& block) const {
    const std::shared_ptr<const GaussianBlock>* const found = blocks_.Find(block);
    return found == nullptr ? nullptr : found->get();
  }
  // The blocks with points that may have means in the box (MayContainMeans), ascending by key.
  [[nodiscard]] std::vector<std::pair<CellKey, const GaussianBlock*>> BlocksMeeting(
      const Eigen::Vector3d& min, const Eigen::Vector3d& max) const;

 private:
  uint64_t id_;
  double cell_size_m_;
  Blocks blocks_;
  size_t size_ = 0;
  size_t block_bytes_ = 0;
};

// The difference between a list of tiles and that of the previous grid. Tiles of both lists have
// the same order in both.
struct GridChange {
  const GaussianGrid& previous;
  std::vector<const TileMoments*> removed;
  std::vector<size_t> added;  // positions in the list
};

// Composes a grid from the moments of tiles, from scratch or incrementally from the previous grid.
// Both give bit-identical grids with any number of threads.
//
// Tiles, which must outlive the grid, are of the statistics' cell size and in the map's order. With
// `change` only blocks that its tiles have points in are made anew, and those in which Gaussians of
// these blocks are or were found. `pool` null: on the caller's thread.
[[nodiscard]] GaussianGrid ComposeGrid(absl::Span<const TileMoments* const> tiles,
                                       const CellStatistics& statistics, const GridChange* change,
                                       ThreadPool* pool);

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_GAUSSIAN_GRID_H_
