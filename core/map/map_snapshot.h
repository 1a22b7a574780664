// SPDX-License-Identifier: Apache-2.0
//
// MapSnapshot: one revision of one map, complete and immutable. Alignments hold the snapshot they
// started with; the last to let go frees it.

#ifndef VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_
#define VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/map/resident_map.h"
#include "core/map/tile_catalogue.h"
#include "core/map/tile_residency.h"

namespace voxloc {

struct MapSnapshot {
  std::string name;
  uint64_t revision = 0;
  int64_t committed_unix_ns = 0;
  TileCatalogue tiles;
  // Composed of the resident ones of them, in the order of their ids.
  std::shared_ptr<const ResidentMap> resident;
  std::shared_ptr<const TileResidency> residency;  // null: all of them are resident
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_
