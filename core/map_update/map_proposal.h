// SPDX-License-Identifier: Apache-2.0
//
// Proposes new tiles for a part of a map from the scans of vehicles that drove through it: takes
// out what passes saw through, and adds what stayed in place over all passes that could see it.
//
// 1. Each scan is aligned with the map, from its recorded pose. One that is not accepted, or whose
//    recorded pose was wrong by more than kMaxCorrectionM, is left out. The poses of each pass are
//    refined together (RefineTogether), with the motions from scan to scan (MeasureMotions).
// 2. The passes vote on cubes of 0.1 m (CubeVotes), and passes that disagree with the others are
//    left out. A rule (ChangeRule) decides which cubes changed. Tiles are proposed where something
//    changed that stands higher than cars.
// 3. The scans that see these tiles are aligned and refined once more, with the map as it was
//    decided so far, so that what changed no longer pulls them. The passes vote again.
// 4. A new tile has the old points without those in the cubes that are gone, and a choice of the
//    scans' points in the new cubes, at the map's density. Scans that were held out are aligned
//    with both maps; tiles that they do not fit better than the old ones are left out, and tiles
//    whose changes are shown by passes in one direction only, where passes go in both.
//
// A pure function of its request, on the engine's threads. Memory: that of the scans and of the
// engine's maps, and CubeVotes for the tiles.

#ifndef VOXLOC_CORE_MAP_UPDATE_MAP_PROPOSAL_H_
#define VOXLOC_CORE_MAP_UPDATE_MAP_PROPOSAL_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/map_update/update_request.h"

namespace voxloc {

// Mean scores of the scans that were held out, over their points.
struct HeldOutScore {
  size_t scans = 0;
  double before = 0.0;  // with the old tile
  double after = 0.0;
};

struct TileProposal {
  size_t tile = 0;  // in the request
  PointCloud cloud_map;
  PassMask passes = 0;  // that showed a change
  PassDirections directions;
  size_t points_removed = 0;
  size_t points_added = 0;
  size_t cubes_gone = 0;
  size_t cubes_new = 0;
  size_t cubes_unsettled = 0;
  HeldOutScore held_out;
};

struct UpdateProposal {
  std::vector<TileProposal> tiles;
  std::vector<size_t> unconfirmed_tiles;  // left out, in the request
  PassMask dropped_passes = 0;            // that disagree with the others
  ScanCounts counts;
  size_t votes_memory_bytes = 0;  // the most at a time
};

// InvalidArgument: too many passes, a scan of none of them, or no tile with points. Otherwise
// errors of the engine; ResourceExhausted where memory runs out.
[[nodiscard]] absl::StatusOr<UpdateProposal> ProposeTiles(Engine& engine, const Profile& profile,
                                                          const UpdateRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_MAP_PROPOSAL_H_
