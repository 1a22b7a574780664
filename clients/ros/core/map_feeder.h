// SPDX-License-Identifier: Apache-2.0
//
// MapFeeder: uploads the tiles that pcd_loader_service has near the vehicle to a map of the server,
// so that a vehicle can use its own map without a separate upload. It only adds tiles that the
// server does not have, and removes none, so that several vehicles can feed one map. Thread-safe;
// Update blocks on the network, so call it on a worker thread.

#ifndef VOXLOC_CLIENTS_ROS_CORE_MAP_FEEDER_H_
#define VOXLOC_CLIENTS_ROS_CORE_MAP_FEEDER_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "clients/cpp/channel.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"

namespace voxloc::ros {

class MapFeeder {
 public:
  // Timeout of the loader's answer; Autoware's node has none.
  static constexpr double kLoaderTimeoutS = 30.0;

  // The loader outlives it.
  MapFeeder(const client::Channel& channel, const Parameters& parameters, MapLoader& loader);
  ~MapFeeder();
  MapFeeder(const MapFeeder&) = delete;
  MapFeeder& operator=(const MapFeeder&) = delete;

  // Requests the tiles around the position from the loader and adds them to the map. Sets the keys
  // of Autoware's map update in the report. Not ok: some or all tiles were not added; retry later.
  absl::Status Update(const Eigen::Vector3d& position_map, StatusReport& report);

  // Makes a blocked Update return.
  void Cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MAP_FEEDER_H_
