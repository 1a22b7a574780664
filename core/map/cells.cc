// SPDX-License-Identifier: Apache-2.0

#include "core/map/cells.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

Eigen::Vector3d FloatIndex(const TileMoments& tile, size_t i) {
  const auto count = static_cast<float>(tile.moments[i].count);
  const FloatSum& sum = tile.float_sums[i];
  return tile.origin + Eigen::Vector3f(sum.x / count, sum.y / count, sum.z / count).cast<double>();
}

// Turns moments into a cell, if they make one. `float_index` null: the index is the mean.
void AppendCell(const CellKey& block, uint32_t place, const ndt::CellMoments& moments,
                const Eigen::Vector3d* float_index, const CellStatistics& statistics,
                std::vector<MapCell>& cells) {
  ndt::CellGaussian gaussian;
  if (!ndt::ComputeGaussian(moments, statistics.gaussian, gaussian)) return;
  MapCell cell;
  cell.key = CellAt(block, place);
  cell.count = moments.count;
  const ndt::Vector3<double>& mean = gaussian.mean_from_centre;
  cell.mean =
      CellCentre(cell.key, statistics.cell_size_m) + Eigen::Vector3d(mean.x, mean.y, mean.z);
  cell.index = float_index != nullptr ? *float_index : cell.mean;
  cell.covariance = gaussian.covariance;
  cell.information = gaussian.information;
  cells.push_back(cell);
}

}  // namespace

// Walks the cells in ascending place; sources are in tile order, each ascending.
void ComposeBlock(const CellKey& block, absl::Span<const CellSource> sources,
                  const CellStatistics& statistics, std::vector<MapCell>& cells) {
  std::vector<uint32_t> cursor;
  cursor.reserve(sources.size());
  for (const CellSource& source : sources) cursor.push_back(source.begin);
  for (;;) {
    uint32_t place = kBlockCells;
    for (size_t s = 0; s < sources.size(); ++s) {
      if (cursor[s] < sources[s].end) {
        place = std::min<uint32_t>(place, sources[s].tile->places[cursor[s]]);
      }
    }
    if (place == kBlockCells) break;
    ndt::CellMoments merged;
    for (size_t s = 0; s < sources.size(); ++s) {
      const TileMoments& tile = *sources[s].tile;
      if (cursor[s] == sources[s].end || tile.places[cursor[s]] != place) continue;
      const size_t i = cursor[s]++;
      if (statistics.merge_tiles) {
        ndt::AddMoments(tile.moments[i], merged);
      } else if (statistics.float_index) {
        const Eigen::Vector3d index = FloatIndex(tile, i);
        AppendCell(block, place, tile.moments[i], &index, statistics, cells);
      } else {
        AppendCell(block, place, tile.moments[i], nullptr, statistics, cells);
      }
    }
    if (statistics.merge_tiles) AppendCell(block, place, merged, nullptr, statistics, cells);
  }
}

bool MayContainMeans(const CellKey& first_block, const CellKey& last_block, double cell_size_m,
                     const Eigen::Vector3d& min, const Eigen::Vector3d& max) {
  const int32_t firsts[3] = {first_block.x, first_block.y, first_block.z};
  const int32_t lasts[3] = {last_block.x, last_block.y, last_block.z};
  for (int axis = 0; axis < 3; ++axis) {
    const double begin = static_cast<double>(firsts[axis]) * kBlockSize - 1.0;
    const double end = (static_cast<double>(lasts[axis]) + 1.0) * kBlockSize + 1.0;
    if (end * cell_size_m < min[axis] || begin * cell_size_m > max[axis]) return false;
  }
  return true;
}

absl::Status ValidateCellStatistics(const CellStatistics& statistics) {
  VOXLOC_TRY(CheckRanges(
      {{"the cell size", statistics.cell_size_m, kCellSizeRange},
       {"the minimum number of points of a cell", statistics.gaussian.min_points,
        kCellMinPointsRange},
       {"the eigenvalue ratio", statistics.gaussian.eigenvalue_ratio, kCellEigenvalueRatioRange}}));
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
