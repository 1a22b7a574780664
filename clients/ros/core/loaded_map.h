// SPDX-License-Identifier: Apache-2.0
//
// The server's map around a place, for debug/loaded_pointcloud_map. Waits for the network.

#ifndef VOXLOC_CLIENTS_ROS_CORE_LOADED_MAP_H_
#define VOXLOC_CLIENTS_ROS_CORE_LOADED_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "clients/ros/core/messages.h"

namespace voxloc::ros {

// Points of such a cloud at most; a map with more around the place is cut to the tiles that fit, in
// the order of their ids. 120 MB of x, y, z.
inline constexpr size_t kMaxLoadedMapPoints = 10'000'000;

// The points of all tiles that touch the square of side 2 * radius_m around the position.
[[nodiscard]] absl::StatusOr<PointCloud2> FetchMapAround(const client::Channel& channel,
                                                         const std::string& map,
                                                         const Eigen::Vector3d& position_map,
                                                         double radius_m, const Header& header);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_LOADED_MAP_H_
