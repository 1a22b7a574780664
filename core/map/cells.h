// SPDX-License-Identifier: Apache-2.0
//
// From the moments of tiles to the Gaussians of a map, block by block, in double precision.

#ifndef VOXLOC_CORE_MAP_CELLS_H_
#define VOXLOC_CORE_MAP_CELLS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/lattice.h"
#include "core/map/tile_moments.h"
#include "core/ndt/cell_gaussian.h"
#include "core/text/number_range.h"

namespace voxloc {

// CellStatistics: how the Gaussian of a cell is computed from its points. A map has one set of
// cells for each distinct CellStatistics of its profiles. A plain value.
struct CellStatistics {
  double cell_size_m = 2.0;
  ndt::GaussianOptions gaussian;
  // Points of one cell that lie in several tiles: one Gaussian (true), or one for each tile, as the
  // reference has it.
  bool merge_tiles = true;
  // The position at which the neighbour search indexes a cell: its mean (false), or the reference's
  // float32 running mean (true), which is per tile and so requires merge_tiles to be false.
  bool float_index = false;

  friend bool operator==(const CellStatistics& a, const CellStatistics& b) {
    return a.cell_size_m == b.cell_size_m && a.gaussian.min_points == b.gaussian.min_points &&
           a.gaussian.identity_seed == b.gaussian.identity_seed &&
           a.gaussian.eigenvalue_ratio == b.gaussian.eigenvalue_ratio &&
           a.merge_tiles == b.merge_tiles && a.float_index == b.float_index;
  }
};

inline constexpr NumberRange kCellSizeRange = FromTo(0.01, 1000.0).Unit(" m");
inline constexpr NumberRange kCellMinPointsRange = AtLeast(3);
inline constexpr NumberRange kCellEigenvalueRatioRange = Over(0.0).AtMost(1.0);

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateCellStatistics(const CellStatistics& statistics);
[[nodiscard]] std::string ToString(const CellStatistics& statistics);

[[nodiscard]] inline Eigen::Matrix3d ToMatrix(const ndt::Symmetric3<double>& s) {
  Eigen::Matrix3d matrix;
  matrix << s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz;
  return matrix;
}

struct MapCell {
  CellKey key;                                      // of the lattice cell its points lie in
  uint64_t count = 0;                               // points
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();   // map frame, m
  Eigen::Vector3d index = Eigen::Vector3d::Zero();  // where the search finds it, map frame, m
  ndt::Symmetric3<double> covariance;               // regularised, m^2
  ndt::Symmetric3<double> information;              // 1/m^2
};

// A tile's run of cells in one block.
struct CellSource {
  const TileMoments* tile = nullptr;
  uint32_t begin = 0;  // into its arrays
  uint32_t end = 0;

  friend bool operator==(const CellSource& a, const CellSource& b) {
    return a.tile == b.tile && a.begin == b.begin && a.end == b.end;
  }
};

// Appends the cells of a block, ascending by place, then by tile. Sources are all that tiles have
// there, in the map's order of tiles; tiles are of the statistics' cell size.
void ComposeBlock(const CellKey& block, absl::Span<const CellSource> sources,
                  const CellStatistics& statistics, std::vector<MapCell>& cells);

// Whether a cell of these blocks may have its mean in the box from `min` to `max`. Rounding can
// move a mean out of its cell by less than one cell size. A NaN bound is no bound.
[[nodiscard]] bool MayContainMeans(const CellKey& first_block, const CellKey& last_block,
                                   double cell_size_m, const Eigen::Vector3d& min,
                                   const Eigen::Vector3d& max);

// A tile and a map in an engine's memory, in the engine's own layout: opaque to all others,
// immutable, and safe to read from any thread; the last owner frees them.
class ResidentTile {
 public:
  virtual ~ResidentTile() = default;

  [[nodiscard]] virtual size_t points() const = 0;
  [[nodiscard]] virtual size_t not_finite() const = 0;
  // Occupied cells on the finest lattice.
  [[nodiscard]] virtual size_t cells() const = 0;
  [[nodiscard]] virtual size_t MemoryBytes() const = 0;
};

class ResidentMap {
 public:
  virtual ~ResidentMap() = default;

  // The statistics it was composed with, and the number of Gaussians of each.
  [[nodiscard]] virtual const std::vector<CellStatistics>& statistics() const = 0;
  [[nodiscard]] virtual size_t cells(size_t statistics_index) const = 0;
  [[nodiscard]] virtual size_t MemoryBytes() const = 0;

  // The Gaussians whose mean lies in the box, ascending by block and place. ResourceExhausted when
  // there are more than `max_cells`, or no memory for them.
  [[nodiscard]] virtual absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                                        const Eigen::Vector3d& min,
                                                                        const Eigen::Vector3d& max,
                                                                        size_t max_cells) const = 0;

  // Of a map that several engines hold: the part of each, null where one has none. Empty: the map
  // is of one engine.
  [[nodiscard]] virtual absl::Span<const std::shared_ptr<const ResidentMap>> parts() const {
    return {};
  }
};

// The map itself, or the first of its parts, that is a `Map` of which `is_own` holds; null if none.
template <typename Map, typename IsOwn>
[[nodiscard]] const Map* FindOwnPart(const ResidentMap* map, const IsOwn& is_own) {
  const auto own = [&is_own](const ResidentMap* part) {
    const auto* const as_own = dynamic_cast<const Map*>(part);
    return as_own != nullptr && is_own(*as_own) ? as_own : nullptr;
  };
  if (map == nullptr || map->parts().empty()) return own(map);
  for (const std::shared_ptr<const ResidentMap>& part : map->parts()) {
    if (const Map* const found = own(part.get()); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_CELLS_H_
