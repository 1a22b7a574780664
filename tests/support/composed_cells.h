// SPDX-License-Identifier: Apache-2.0
//
// All cells of a map of tiles, plainly: from a table of all runs, with nothing shared.

#ifndef VOXLOC_TESTS_SUPPORT_COMPOSED_CELLS_H_
#define VOXLOC_TESTS_SUPPORT_COMPOSED_CELLS_H_

#include <map>
#include <vector>

#include "core/map/cells.h"

namespace voxloc {

// Ascending by block, then by place, then in the order of the tiles.
inline std::vector<MapCell> AllCellsOf(const std::vector<const TileMoments*>& tiles,
                                       const CellStatistics& statistics) {
  std::map<CellKey, std::vector<CellSource>> sources;
  for (const TileMoments* tile : tiles) {
    for (const TileMoments::Block& block : tile->blocks) {
      sources[block.key].push_back({tile, block.begin, block.end});
    }
  }
  std::vector<MapCell> cells;
  for (const auto& [block, runs] : sources) ComposeBlock(block, runs, statistics, cells);
  return cells;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_COMPOSED_CELLS_H_
