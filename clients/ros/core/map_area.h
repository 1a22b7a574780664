// SPDX-License-Identifier: Apache-2.0
//
// MapArea: when Autoware's dynamic map loading looks at the map anew: at first, and whenever the
// vehicle has moved by update_distance since. Not thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_
#define VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_

#include <Eigen/Core>
#include <optional>

#include "clients/ros/core/parameters.h"
#include "clients/ros/core/status_report.h"

namespace voxloc::ros {

class MapArea {
 public:
  explicit MapArea(const DynamicMapLoadingParameters& parameters) : parameters_(parameters) {}

  // The checks of Autoware's timer, with their keys. True: the map is to be looked at anew from
  // this position, which then counts as the last one.
  bool Check(bool is_activated, const std::optional<Eigen::Vector3d>& position_map,
             StatusReport& report);

  // An update that was asked for otherwise, or failed: the next check updates.
  void Forget() { last_position_map_.reset(); }

 private:
  DynamicMapLoadingParameters parameters_;
  std::optional<Eigen::Vector3d> last_position_map_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_
