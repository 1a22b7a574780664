// SPDX-License-Identifier: Apache-2.0
//
// TileChange: what a map's list of tiles has that its predecessor's had not, and the other way
// round.

#ifndef VOXLOC_CORE_MAP_TILE_CHANGE_H_
#define VOXLOC_CORE_MAP_TILE_CHANGE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/map/resident_map.h"

namespace voxloc {

struct TileChange {
  // False: too much has changed, or the order of the tiles that stay, and everything is made anew.
  bool incremental = false;
  std::vector<size_t> removed;  // positions in the list before, ascending
  std::vector<size_t> added;    // positions in the list now, ascending

  [[nodiscard]] bool empty() const { return removed.empty() && added.empty(); }
};

// Tiles are told apart by their addresses; what they hold is not looked at.
[[nodiscard]] TileChange CompareTiles(absl::Span<const ResidentTile* const> before,
                                      absl::Span<const ResidentTile* const> now);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_TILE_CHANGE_H_
