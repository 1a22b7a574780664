// SPDX-License-Identifier: Apache-2.0
//
// A map that a command reads: a revision on the server, or clouds on the disk (a cloud file, a
// directory of clouds, an Autoware map, or one of voxloc map export).

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_SOURCE_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_SOURCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cpp/map_client.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::cli {

struct MapSource {
  struct CloudOnDisk {
    std::string id;
    std::function<absl::StatusOr<PointCloud>()> load;  // in the map's frame
  };

  std::string text;  // as it was given; of a server MAP@REVISION
  std::string map;   // empty: clouds
  uint64_t revision = 0;
  std::map<std::string, v1::TileInfo> tiles;  // of a revision, by id
  std::vector<CloudOnDisk> clouds;
};

// Takes a tile with its points in the map's frame; an error ends the reading with it.
using SourceReceiver = std::function<absl::Status(const std::string& id, PointCloud cloud_map)>;

// Reads the maps that are named in a command. For one thread.
class MapSources {
 public:
  // `server` must outlive it.
  explicit MapSources(const ServerFlags& server) : server_(server) {}

  // `text`: a path where there is one, else a map of the server, MAP@REVISION, or MAP@active for
  // the revision in use, also where a path has the map's name. The server is connected with when
  // the first is asked for. InvalidArgument: a revision that is none; NotFound:
  // no such map or revision. `text` and the tiles are known then, points are not read.
  [[nodiscard]] absl::StatusOr<MapSource> Resolve(const std::string& text);

  // Reads the tiles `ids` of a source on the server.
  [[nodiscard]] absl::Status ReadTiles(const MapSource& source, const std::vector<std::string>& ids,
                                       const SourceReceiver& receive) const;

  // Reads all clouds of a source on the disk.
  [[nodiscard]] static absl::Status ReadClouds(const MapSource& source,
                                               const SourceReceiver& receive);

  // After Resolve of a source on the server.
  [[nodiscard]] const client::Channel& channel() const { return *channel_; }

 private:
  const ServerFlags& server_;
  std::optional<client::Channel> channel_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_SOURCE_H_
