// SPDX-License-Identifier: Apache-2.0
//
// New tiles beyond the edges of a whole map from recorded drives, place by place, with the
// evidence.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FLEET_EXTENSION_H_
#define VOXLOC_CLIENTS_CLI_MAP_FLEET_EXTENSION_H_

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
#include "core/map_update/map_extension.h"

namespace voxloc::cli {

struct NewTileEvidence {
  std::string
      tile;  // an id that the map does not have, by the lowest corner as `map load` names it
  NewTile proposal;
  std::set<size_t> drives;  // that show it
};

struct FleetExtension {
  std::vector<NewTileEvidence> tiles;
  size_t unconfirmed_tiles = 0;            // left out
  std::vector<size_t> disagreeing_drives;  // left out somewhere, ascending
  ScanCounts counts;
};

// Drives leave the map where they are recorded under none of its tiles. Such places within 100 m of
// each other are worked on together, with the scans within reach and the tiles that they see.
// InvalidArgument: the size of the tiles is not one of TileGrid.
[[nodiscard]] absl::StatusOr<FleetExtension> ExtendForFleet(Engine& engine, const Profile& profile,
                                                            const MapTiles& map,
                                                            const RecordedDrives& drives,
                                                            const ChangeRule& rule,
                                                            const ExtensionOptions& options);

// evidence.json.
[[nodiscard]] Json ExtensionJson(const MapTiles& map, const RecordedDrives& drives,
                                 const ChangeRule& rule, const FleetExtension& extension);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FLEET_EXTENSION_H_
