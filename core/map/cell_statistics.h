// SPDX-License-Identifier: Apache-2.0
//
// CellStatistics: how the points of a cell become its Gaussian. A map carries one set of cells for
// each statistics that its profiles name. A plain value.

#ifndef VOXLOC_CORE_MAP_CELL_STATISTICS_H_
#define VOXLOC_CORE_MAP_CELL_STATISTICS_H_

#include <string>

#include "absl/status/status.h"
#include "core/ndt/cell_gaussian.h"

namespace voxloc {

struct CellStatistics {
  double cell_size_m = 2.0;
  ndt::GaussianOptions gaussian;
  // Points of one cell that lie in several tiles: one Gaussian (true), or one for each tile, as the
  // reference has it.
  bool merge_tiles = true;
  // Where the neighbour search looks for a cell: at its mean (false), or at the reference's float32
  // running mean (true), which takes part per tile and so needs merge_tiles to be false.
  bool float_index = false;

  friend bool operator==(const CellStatistics& a, const CellStatistics& b) {
    return a.cell_size_m == b.cell_size_m && a.gaussian.min_points == b.gaussian.min_points &&
           a.gaussian.identity_seed == b.gaussian.identity_seed &&
           a.gaussian.eigenvalue_ratio == b.gaussian.eigenvalue_ratio &&
           a.merge_tiles == b.merge_tiles && a.float_index == b.float_index;
  }
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateCellStatistics(const CellStatistics& statistics);
[[nodiscard]] std::string ToString(const CellStatistics& statistics);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_CELL_STATISTICS_H_
