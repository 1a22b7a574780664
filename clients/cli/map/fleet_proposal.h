// SPDX-License-Identifier: Apache-2.0
//
// New tiles for a whole map from recorded drives, part by part, with the evidence.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FLEET_PROPOSAL_H_
#define VOXLOC_CLIENTS_CLI_MAP_FLEET_PROPOSAL_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/map/map_tiles.h"
#include "clients/cli/map/recorded_drives.h"
#include "clients/cli/output/output.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "core/map_update/map_proposal.h"

namespace voxloc::cli {

struct TileEvidence {
  std::string tile;
  TileProposal proposal;
  std::set<size_t> drives;  // that show it
};

struct FleetProposal {
  std::vector<TileEvidence> tiles;             // proposed, in the map's order
  std::vector<std::string> unconfirmed_tiles;  // left out: held-out scans do not gain
  std::vector<size_t> disagreeing_drives;      // left out somewhere, ascending
  ScanCounts counts;                           // a scan counts in each part that it sees
  size_t parts = 0;
  size_t votes_memory_bytes = 0;  // the most at a time
};

// The map is worked on in squares of 100 m, each with the scans within reach and the tiles that
// they see. Of more than kMaxVotingPasses drives through one, the latest count.
[[nodiscard]] absl::StatusOr<FleetProposal> ProposeForFleet(Engine& engine, const Profile& profile,
                                                            const MapTiles& map,
                                                            const RecordedDrives& drives,
                                                            const ChangeRule& rule);

// evidence.json.
[[nodiscard]] Json EvidenceJson(const MapTiles& map, const RecordedDrives& drives,
                                const ChangeRule& rule, const FleetProposal& proposal);

// What evidence.json says of any proposal, and of the drives that show one of its tiles.
[[nodiscard]] Json CommonEvidenceJson(const MapTiles& map, const RecordedDrives& drives,
                                      const ChangeRule& rule, const ScanCounts& counts,
                                      const std::vector<size_t>& disagreeing_drives);
[[nodiscard]] Json ShowingJson(const RecordedDrives& drives, const std::set<size_t>& showing,
                               PassMask passes, const PassDirections& directions);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FLEET_PROPOSAL_H_
