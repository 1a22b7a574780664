// SPDX-License-Identifier: Apache-2.0
//
// What the CPU engine keeps of a tile and of a map. Immutable.

#ifndef VOXLOC_CORE_ENGINE_CPU_CPU_MAP_H_
#define VOXLOC_CORE_ENGINE_CPU_CPU_MAP_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/cpu/gaussian_grid.h"
#include "core/engine/engine.h"
#include "core/map/cells.h"
#include "core/map/tile_moments.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::cpu {

// The moments of a tile on each lattice that its map's statistics name.
class CpuTile : public ResidentTile {
 public:
  explicit CpuTile(std::vector<TileMoments> lattices) : lattices_(std::move(lattices)) {}

  // Null where there is no lattice of that size.
  [[nodiscard]] const TileMoments* Lattice(double cell_size_m) const;
  // Ascending by cell size.
  [[nodiscard]] const std::vector<TileMoments>& lattices() const { return lattices_; }

  [[nodiscard]] size_t points() const override { return lattices_.front().points; }
  [[nodiscard]] size_t not_finite() const override { return lattices_.front().not_finite; }
  [[nodiscard]] size_t cells() const override;
  [[nodiscard]] size_t MemoryBytes() const override;

 private:
  std::vector<TileMoments> lattices_;  // at least one
};

class CpuMap : public ResidentMap {
 public:
  // All tiles must have the lattices that the statistics name. `previous` and `pool` may be null.
  CpuMap(const Engine& engine, std::vector<std::shared_ptr<const CpuTile>> tiles,
         std::vector<CellStatistics> statistics, const CpuMap* previous, ThreadPool* pool);

  // Which made it. Any CPU engine can use a map by itself, but of the parts of a map its own alone.
  [[nodiscard]] const Engine& engine() const { return engine_; }

  // Null where the map was not composed with these statistics.
  [[nodiscard]] const GaussianGrid* Grid(const CellStatistics& statistics) const;

  [[nodiscard]] const std::vector<CellStatistics>& statistics() const override {
    return statistics_;
  }
  [[nodiscard]] size_t cells(size_t statistics_index) const override {
    return grids_[statistics_index].size();
  }
  [[nodiscard]] size_t MemoryBytes() const override;
  // Computed anew from the tiles' moments, in double.
  [[nodiscard]] absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                                const Eigen::Vector3d& min,
                                                                const Eigen::Vector3d& max,
                                                                size_t max_cells) const override;

 private:
  const Engine& engine_;
  // The blocks of the grids refer to their lattices, and a successor compares its own with them.
  std::vector<std::shared_ptr<const CpuTile>> tiles_;
  std::vector<CellStatistics> statistics_;
  std::vector<GaussianGrid> grids_;  // one for each statistics
};

}  // namespace voxloc::cpu

#endif  // VOXLOC_CORE_ENGINE_CPU_CPU_MAP_H_
