// SPDX-License-Identifier: Apache-2.0
//
// A map out of a recorded drive: its scans, thinned, moved by their poses and cut into tiles.

#ifndef VOXLOC_CLIENTS_CLI_MAP_LOAD_BAG_H_
#define VOXLOC_CLIENTS_CLI_MAP_LOAD_BAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/bag_flags.h"
#include "clients/cli/map_tile_plan.h"
#include "clients/cli/scan_flags.h"
#include "clients/dataset/tile_spill.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct MapBagFlags {
  BagFlags bag;
  ScanFlags scan;
  std::string base_T_sensor;     // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  double scan_distance_m = 0.0;  // between the scans that are taken; 0: all
};

// --bag, its topics and frames, and what is done to each scan. A bag does not go with a PATH.
void AddMapBagFlags(CLI::App* command, MapBagFlags* flags);

// `poses_file`: tum; empty: the bag's poses. Memory: that of TileSpill, one scan, and what
// bag::Drive needs.
[[nodiscard]] absl::StatusOr<MapLoadPlan> PlanBagLoad(const std::string& map,
                                                      const MapBagFlags& flags,
                                                      const std::string& poses_file,
                                                      const TileSpill::Options& spill);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_LOAD_BAG_H_
