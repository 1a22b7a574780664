// SPDX-License-Identifier: Apache-2.0

#include "core/map/cell_statistics.h"

#include "absl/strings/str_cat.h"

namespace voxloc {

absl::Status ValidateCellStatistics(const CellStatistics& statistics) {
  const auto invalid = [](auto&&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (!(statistics.cell_size_m >= 0.01 && statistics.cell_size_m <= 1000.0)) {
    return invalid("the cell size must be from 0.01 to 1000 m (got ", statistics.cell_size_m, ")");
  }
  if (statistics.gaussian.min_points < 3) {
    return invalid("the minimum number of points of a cell must be at least 3 (got ",
                   statistics.gaussian.min_points, ")");
  }
  if (!(statistics.gaussian.eigenvalue_ratio > 0.0 &&
        statistics.gaussian.eigenvalue_ratio <= 1.0)) {
    return invalid("the eigenvalue ratio must be over 0 and at most 1 (got ",
                   statistics.gaussian.eigenvalue_ratio, ")");
  }
  if (statistics.float_index && statistics.merge_tiles) {
    return invalid("a float32 index is kept per tile: it needs cells that are not merged");
  }
  return absl::OkStatus();
}

std::string ToString(const CellStatistics& statistics) {
  return absl::StrCat("cells of ", statistics.cell_size_m, " m, at least ",
                      statistics.gaussian.min_points, " points, ",
                      statistics.gaussian.identity_seed ? "identity seed" : "no seed",
                      ", eigenvalue ratio ", statistics.gaussian.eigenvalue_ratio,
                      statistics.merge_tiles ? "" : ", one for each tile",
                      statistics.float_index ? ", float32 index" : "");
}

}  // namespace voxloc
