// SPDX-License-Identifier: Apache-2.0

#include "core/map/cells.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// One tile's run of cells in a block.
struct Source {
  CellKey block;
  uint32_t tile = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

// All runs of all tiles, by block, then by tile.
std::vector<Source> CollectSources(absl::Span<const TileMoments* const> tiles) {
  std::vector<Source> sources;
  for (uint32_t t = 0; t < tiles.size(); ++t) {
    for (const TileMoments::Block& block : tiles[t]->blocks) {
      sources.push_back({block.key, t, block.begin, block.end});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return a.block == b.block ? a.tile < b.tile : a.block < b.block;
  });
  return sources;
}

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

// Walks the cells of a block in ascending place; sources are in tile order, each ascending.
std::shared_ptr<const MapCellBlock> ComposeBlock(absl::Span<const TileMoments* const> tiles,
                                                 absl::Span<const Source> sources,
                                                 const CellStatistics& statistics) {
  auto block = std::make_shared<MapCellBlock>();
  block->key = sources[0].block;
  std::vector<uint32_t> cursor;
  size_t most = 0;
  for (const Source& source : sources) {
    block->sources.push_back(tiles[source.tile]);
    cursor.push_back(source.begin);
    most += source.end - source.begin;
  }
  block->cells.reserve(most);
  for (;;) {
    uint32_t place = kBlockCells;
    for (size_t s = 0; s < sources.size(); ++s) {
      if (cursor[s] < sources[s].end) {
        place = std::min<uint32_t>(place, tiles[sources[s].tile]->places[cursor[s]]);
      }
    }
    if (place == kBlockCells) break;
    ndt::CellMoments merged;
    for (size_t s = 0; s < sources.size(); ++s) {
      const TileMoments& tile = *tiles[sources[s].tile];
      if (cursor[s] == sources[s].end || tile.places[cursor[s]] != place) continue;
      const size_t i = cursor[s]++;
      if (statistics.merge_tiles) {
        ndt::AddMoments(tile.moments[i], merged);
      } else if (statistics.float_index) {
        const Eigen::Vector3d index = FloatIndex(tile, i);
        AppendCell(block->key, place, tile.moments[i], &index, statistics, block->cells);
      } else {
        AppendCell(block->key, place, tile.moments[i], nullptr, statistics, block->cells);
      }
    }
    if (statistics.merge_tiles) {
      AppendCell(block->key, place, merged, nullptr, statistics, block->cells);
    }
  }
  block->cells.shrink_to_fit();
  return block;
}

bool SameSources(const MapCellBlock& block, absl::Span<const TileMoments* const> tiles,
                 absl::Span<const Source> sources) {
  return std::equal(
      block.sources.begin(), block.sources.end(), sources.begin(), sources.end(),
      [&](const TileMoments* tile, const Source& source) { return tile == tiles[source.tile]; });
}

}  // namespace

MapCellBlocks ComposeCells(absl::Span<const TileMoments* const> tiles,
                           const CellStatistics& statistics, const MapCellBlocks& previous) {
  const std::vector<Source> sources = CollectSources(tiles);
  MapCellBlocks blocks;
  auto reusable = previous.begin();
  for (size_t begin = 0; begin < sources.size();) {
    size_t end = begin + 1;
    while (end < sources.size() && sources[end].block == sources[begin].block) ++end;
    const absl::Span<const Source> run(&sources[begin], end - begin);
    while (reusable != previous.end() && (*reusable)->key < run[0].block) ++reusable;
    if (reusable != previous.end() && (*reusable)->key == run[0].block &&
        SameSources(**reusable, tiles, run)) {
      blocks.push_back(*reusable);
    } else {
      blocks.push_back(ComposeBlock(tiles, run, statistics));
    }
    begin = end;
  }
  return blocks;
}

}  // namespace voxloc
