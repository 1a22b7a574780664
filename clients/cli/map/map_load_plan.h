// SPDX-License-Identifier: Apache-2.0
//
// What `voxloc map load` loads: clouds or the scans of a drive, brought into the map's frame, cut
// into tiles and thinned.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_PLAN_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/map/map_load.h"
#include "clients/cpp/map_upload.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/cloud_sources.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::cli {

// How --above-ground is typed.
constexpr char kAboveGroundNames[] = "MIN,MAX";

// As the flags give it.
struct MapLoadInput {
  std::string map;  // its name, for messages
  std::vector<std::string> paths;
  bag::DriveOptions bag;
  ScanFlags scan;
  double scan_distance_m = 0.0;  // between the scans of a bag that are taken; 0: all
  std::string point_times = "none";
  std::string base_T_sensor;  // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  std::string poses;
  std::string calibration;
  std::string crs;                    // MapSourceOptions::crs
  bool keep_heights = false;          // of `crs`
  std::string region;                 // X0,Y0,Z0,X1,Y1,Z1; empty: all
  std::string above_ground;           // kAboveGroundNames; empty: all
  std::optional<double> tile_size_m;  // nullopt: one tile per cloud, unless one is large
  std::string spill_dir;
};

struct MapLoadPlan {
  std::vector<client::UploadTile> tiles;
  // Of those that were cut and have been loaded, the ones of whose points none is taken.
  std::shared_ptr<std::set<std::string>> bare = std::make_shared<std::set<std::string>>();
  size_t clouds = 0;
  uint64_t points_not_finite = 0;  // that are in none of the tiles
  // Covers what has been read: all points once the tiles are loaded.
  std::shared_ptr<MapSurvey> survey = std::make_shared<MapSurvey>();
  InputNotes notes;
  // Files of directories that have no finite point: their tiles load without one.
  std::shared_ptr<std::set<std::string>> skipped = std::make_shared<std::set<std::string>>();
};

// `frame`: where the map lies. Prints what the user should know of how the input is read. Memory:
// without cutting, the largest cloud while it is loaded; else that of TileSpill and one piece or
// scan.
[[nodiscard]] absl::StatusOr<MapLoadPlan> PlanLoad(const MapLoadInput& input,
                                                   const std::optional<v1::MapFrame>& frame);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_LOAD_PLAN_H_
