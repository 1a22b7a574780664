// SPDX-License-Identifier: Apache-2.0
//
// Proposes tiles beyond the edge of a map, from the scans of vehicles that drove out of it.
//
// 1. Each scan is aligned with the map, from its recorded pose. Those that the map carries are
//    anchors. The others are reached from the nearest anchor of their pass, before or behind, along
//    the motions from scan to scan (MeasureMotions), which start from the odometry in the recorded
//    poses; how far that is, is the scan's way.
// 2. The scans are placed by their ways, a few metres at a time: aligned with the map and with what
//    all scans placed so far have seen beyond it, then refined together (RefineTogether). Scans
//    farther than `max_way_m` are left out, so that drift stays small.
// 3. The passes vote on cubes of 0.1 m beyond the map as for changed tiles (map_proposal.h). The
//    scans are aligned and refined with the map and what was decided, and the passes vote again.
// 4. A new tile has a choice of the scans' points in the new cubes, at the map's density. Scans
//    that were held out are aligned with the map and the new tiles; tiles near which less than half
//    of them come to where they were placed are left out, and tiles that passes in one direction
//    only show, where passes go in both.
//
// A pure function of its request, on the engine's threads. Memory: that of the scans and of the
// engine's maps, and CubeVotes for the new tiles.

#ifndef VOXLOC_CORE_MAP_UPDATE_MAP_EXTENSION_H_
#define VOXLOC_CORE_MAP_UPDATE_MAP_EXTENSION_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/geometry/pose.h"
#include "core/map_update/new_area.h"
#include "core/map_update/update_request.h"

namespace voxloc {

struct ExtensionOptions {
  double tile_size_m = 20.0;
  // In the towns of seeds 103 and 105, whose maps drift by 3 cm, 95 % of the scans up to this way
  // were placed within 0.11 m; from 40 to 60 m, within 0.21 m.
  double max_way_m = 40.0;
};

// Where a scan beyond the map was placed.
struct PlacedBeyond {
  size_t scan = 0;  // in the request
  Pose map_T_base;
  double way_m = 0.0;  // from the nearest scan of its pass that the map carries
};

struct NewTile {
  TileSquare square;
  PointCloud cloud_map;
  PassMask passes = 0;  // that show its points
  PassDirections directions;
  size_t cubes_new = 0;
  size_t cubes_unsettled = 0;
  double way_m = 0.0;  // the longest of the scans near it
  size_t held_out = 0;
  size_t held_out_agreeing = 0;
};

struct ExtensionProposal {
  std::vector<NewTile> tiles;
  std::vector<TileSquare> unconfirmed_tiles;  // left out
  PassMask dropped_passes = 0;                // that disagree with the others
  ScanCounts counts;                          // not_accepted: beyond the map and not placed
  std::vector<PlacedBeyond> placed;
  size_t votes_memory_bytes = 0;  // the most at a time
};

// The tiles of the request do not change, whatever they say. Errors: as ProposeTiles.
[[nodiscard]] absl::StatusOr<ExtensionProposal> ExtendMap(Engine& engine, const Profile& profile,
                                                          const UpdateRequest& request,
                                                          const ExtensionOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_MAP_EXTENSION_H_
