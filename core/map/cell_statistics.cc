// SPDX-License-Identifier: Apache-2.0

#include "core/map/cell_statistics.h"

#include "absl/strings/str_cat.h"

namespace voxloc {

absl::Status ValidateCellStatistics(const CellStatistics& statistics) {
  const auto invalid = [](auto&&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (!(statistics.cell_size_m >= 0.01 && statistics.cell_size_m <= 1000.0)) {
    return invalid("cell size is ", statistics.cell_size_m, " m; allowed is 0.01 to 1000");
  }
  if (statistics.gaussian.min_points < 3) {
    return invalid("least points of a cell is ", statistics.gaussian.min_points,
                   "; allowed is 3 or more");
  }
  if (!(statistics.gaussian.eigenvalue_ratio > 0.0 &&
        statistics.gaussian.eigenvalue_ratio <= 1.0)) {
    return invalid("eigenvalue ratio is ", statistics.gaussian.eigenvalue_ratio,
                   "; allowed is over 0 and up to 1");
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
