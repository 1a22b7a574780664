// SPDX-License-Identifier: Apache-2.0

#include "core/map/cell_statistics.h"

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {

absl::Status ValidateCellStatistics(const CellStatistics& statistics) {
  VOXLOC_TRY(CheckRanges(
      {{"the cell size", statistics.cell_size_m, FromTo(0.01, 1000.0).Unit(" m")},
       {"the minimum number of points of a cell", statistics.gaussian.min_points, AtLeast(3)},
       {"the eigenvalue ratio", statistics.gaussian.eigenvalue_ratio, Over(0.0).AtMost(1.0)}}));
  if (statistics.float_index && statistics.merge_tiles) {
    return absl::InvalidArgumentError(
        "a float32 index is kept per tile: it needs cells that are not merged");
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
