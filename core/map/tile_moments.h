// SPDX-License-Identifier: Apache-2.0
//
// TileMoments: the moments of one tile's points on one lattice, cell by cell. A plain value, built
// once and then shared read-only by every snapshot of the tile.

#ifndef VOXLOC_CORE_MAP_TILE_MOMENTS_H_
#define VOXLOC_CORE_MAP_TILE_MOMENTS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/map/lattice.h"
#include "core/ndt/cell_gaussian.h"

namespace voxloc {

class ThreadPool;

// The float32 running sum of a cell's offsets from the tile's origin, in the order of the input:
// what the reference divides by the count to find a cell's place in its search tree. Its rounding
// error grows with the distance from the origin and is part of the reference's numbers.
struct FloatSum {
  float x = 0.0F;
  float y = 0.0F;
  float z = 0.0F;
};

struct TileMoments {
  // A run of cells in one 8x8x8 block.
  struct Block {
    CellKey key;
    uint32_t begin = 0;  // into the arrays below
    uint32_t end = 0;
  };

  double cell_size_m = 0.0;
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();  // that float_sums refer to
  size_t points = 0;                                 // finite points
  size_t not_finite = 0;                             // points dropped

  std::vector<Block> blocks;  // ascending by key
  // One entry a cell, ascending by block, then by place in the block.
  std::vector<uint16_t> places;
  std::vector<ndt::CellMoments> moments;
  std::vector<FloatSum> float_sums;  // empty if not requested

  [[nodiscard]] size_t cells() const { return places.size(); }
  [[nodiscard]] size_t MemoryBytes() const;
};

struct TileMomentsOptions {
  bool float_sums = true;      // whether to compute them
  ThreadPool* pool = nullptr;  // null: on the caller's thread
};

// The same bits whatever the number of threads.
// InvalidArgument when the cell size is not positive and finite, when no point or not the origin is
// finite, or when a point lies more than 2^27 cells from the map's zero.
[[nodiscard]] absl::StatusOr<TileMoments> BuildTileMoments(const PointCloud& cloud_map,
                                                           double cell_size_m,
                                                           const TileMomentsOptions& options = {});

// log2(coarse / fine) if the cells of the coarse lattice are exact unions of cells of the fine one,
// regardless of rounding: both sizes are powers of two, the coarse one larger. Otherwise nullopt.
[[nodiscard]] std::optional<int> CoarseningBits(double fine_cell_size_m, double coarse_cell_size_m);

// The moments of a tile on the lattice of 2^bits times the cell size (see CoarseningBits), without
// float sums. Cells and counts are those of BuildTileMoments; sums and outer products up to
// rounding in double.
[[nodiscard]] TileMoments CoarsenMoments(const TileMoments& fine, int bits);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_MOMENTS_H_
