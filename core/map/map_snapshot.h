// SPDX-License-Identifier: Apache-2.0
//
// MapSnapshot: one revision of one map, complete and immutable. Alignments hold the snapshot they
// started with; the last to let go frees it.

#ifndef VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_
#define VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/cloud/point_cloud.h"
#include "core/map/resident_map.h"

namespace voxloc {

struct MapTile {
  Bounds bounds;          // of its finite points, map frame
  size_t points = 0;      // finite
  uint64_t revision = 0;  // of the map at which it came
  std::shared_ptr<const ResidentTile> resident;
};

struct MapSnapshot {
  std::string name;
  uint64_t revision = 0;  // 1 for the first commit, plus one for each further one
  int64_t committed_unix_ns = 0;
  std::map<std::string, MapTile> tiles;  // by tile id, in the order in which they are composed
  std::shared_ptr<const ResidentMap> resident;

  [[nodiscard]] size_t points() const;
  // The box around all tiles; finite_points == 0 for a map without tiles.
  [[nodiscard]] Bounds bounds() const;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_MAP_SNAPSHOT_H_
