// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/map_area.h"

#include <cmath>
#include <utility>

#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "clients/ros/core/visualization.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// For each message of the stream.
constexpr double kTimeoutS = 30.0;
// Selects all heights. Finite, since the server rejects infinity.
constexpr double kAnyHeightM = 1e6;

}  // namespace

bool MapArea::Check(bool is_activated, const std::optional<Eigen::Vector3d>& position_map,
                    StatusReport& report) {
  report.SetBool("is_activated", is_activated);
  if (!is_activated) {
    report.Warn("the node is not activated");
    return false;
  }
  report.SetBool("is_set_last_update_position", position_map.has_value());
  if (!position_map.has_value()) {
    report.Warn("no pose has come on ekf_pose_with_covariance, so that there is no place to load");
    return false;
  }
  if (!last_position_map_.has_value()) {
    last_position_map_ = position_map;
    return true;
  }
  const double distance_m = std::hypot(position_map->x() - last_position_map_->x(),
                                       position_map->y() - last_position_map_->y());
  report.SetDouble("distance_last_update_position_to_current_position", distance_m);
  if (distance_m + parameters_.lidar_radius > parameters_.map_radius) {
    report.Error("the map around the vehicle is not loaded as fast as the vehicle moves");
  }
  if (distance_m <= parameters_.update_distance) return false;
  last_position_map_ = position_map;
  return true;
}

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
  VOXLOC_TRY(client::MapClient(channel).GetTiles(request, add, kTimeoutS).status());
  return cloud;
}

}  // namespace voxloc::ros
