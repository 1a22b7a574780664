// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/map_area.h"

#include <cmath>

namespace voxloc::ros {

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

}  // namespace voxloc::ros
