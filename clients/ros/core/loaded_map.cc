// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/loaded_map.h"

#include <limits>
#include <utility>

#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "clients/ros/core/output_clouds.h"

namespace voxloc::ros {
namespace {

// For each message of the stream.
constexpr double kTimeoutS = 30.0;
// Heights do not choose: higher than any map. The server takes finite values only.
constexpr double kAnyHeightM = 1e6;

}  // namespace

absl::StatusOr<PointCloud2> FetchMapAround(const client::Channel& channel, const std::string& map,
                                           const Eigen::Vector3d& position_map, double radius_m,
                                           const Header& header) {
  v1::GetTilesRequest request;
  request.set_map(map);
  const Eigen::Vector3d reach(radius_m, radius_m, kAnyHeightM);
  client::EncodeVector(position_map - reach, request.mutable_region()->mutable_min());
  client::EncodeVector(position_map + reach, request.mutable_region()->mutable_max());
  PointCloud2 cloud = XyzCloud(header, PointCloud());
  const auto add = [&cloud, &header](const v1::TileInfo&, PointCloud tile_map) {
    if (cloud.width + tile_map.size() > kMaxLoadedMapPoints) return absl::OkStatus();
    const PointCloud2 tile = XyzCloud(header, tile_map);
    cloud.data.insert(cloud.data.end(), tile.data.begin(), tile.data.end());
    cloud.width += tile.width;
    return absl::OkStatus();
  };
  const absl::StatusOr<uint64_t> revision =
      client::MapClient(channel).GetTiles(request, add, kTimeoutS);
  if (!revision.ok()) return revision.status();
  return cloud;
}

}  // namespace voxloc::ros
