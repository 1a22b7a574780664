// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_snapshot.h"

namespace voxloc {

size_t MapSnapshot::points() const {
  size_t total = 0;
  for (const auto& [id, tile] : tiles) total += tile.points;
  return total;
}

Bounds MapSnapshot::bounds() const {
  Bounds all;
  for (const auto& [id, tile] : tiles) {
    if (tile.bounds.finite_points == 0) continue;
    if (all.finite_points == 0) {
      all = tile.bounds;
      continue;
    }
    all.min = all.min.cwiseMin(tile.bounds.min);
    all.max = all.max.cwiseMax(tile.bounds.max);
    all.finite_points += tile.bounds.finite_points;
  }
  return all;
}

}  // namespace voxloc
