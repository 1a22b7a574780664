// SPDX-License-Identifier: Apache-2.0
//
// A whole map in memory, from the server or from files, and a directory of it.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_TILES_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_TILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_manifest.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

struct MapTile {
  std::string id;
  std::shared_ptr<const PointCloud> cloud_map;
};

struct MapTiles {
  std::string text;  // as it was given, with the revision
  bool on_server = false;
  MapManifest manifest;  // without tiles
  std::vector<MapTile> tiles;
};

// `text`: as of MapSources.
[[nodiscard]] absl::StatusOr<MapTiles> ReadMapTiles(const std::string& text,
                                                    const ServerFlags& server);

// As `voxloc map export` writes it.
[[nodiscard]] absl::Status WriteMapTiles(const std::string& directory, const MapTiles& map);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_TILES_H_
