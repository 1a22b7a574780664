// SPDX-License-Identifier: Apache-2.0
//
// Which tiles of a map have changed, and by which cubes. Pure functions.

#ifndef VOXLOC_CORE_MAP_UPDATE_CHANGED_TILES_H_
#define VOXLOC_CORE_MAP_UPDATE_CHANGED_TILES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/map_update/change_rule.h"
#include "core/map_update/cube_votes.h"

namespace voxloc {

struct ChangedTile {
  size_t tile = 0;
  std::vector<CellKey> gone;
  std::vector<CellKey> added;
  size_t unsettled = 0;
  PassMask passes = 0;  // that show the changes

  void Add(const VotedCube& cube, CubeFate fate);
};

// Tiles are given by the bounds of their points. A cube belongs to the tile whose bounds are
// nearest in x and y. A tile without a large change (ChangedCubes) is not changed.
[[nodiscard]] std::vector<ChangedTile> FindChangedTiles(const CubeVotes& votes,
                                                        const ChangeRule& rule,
                                                        absl::Span<const int64_t> pass_start_ns,
                                                        absl::Span<const Bounds> tiles);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_CHANGED_TILES_H_
