// SPDX-License-Identifier: Apache-2.0
//
// MapFeeder: brings the tiles that pcd_loader_service has near the vehicle to a map of the server,
// so that a vehicle with its own map needs nobody to load it. It only adds tiles that the server
// does not have yet, and removes none: vehicles that feed one map withdraw nothing from each other.
// Thread-safe; Update waits for the network, on the caller's thread, which is a worker's.

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
  // The loader's answer is waited for this long; Autoware's node waits for ever.
  static constexpr double kLoaderTimeoutS = 30.0;

  // The loader outlives it.
  MapFeeder(const client::Channel& channel, const Parameters& parameters, MapLoader& loader);
  ~MapFeeder();
  MapFeeder(const MapFeeder&) = delete;
  MapFeeder& operator=(const MapFeeder&) = delete;

  // Asks the loader for what lies around the position, and adds it to the map. The keys of
  // Autoware's map update go into the report. Not ok: nothing, or not all, has been added; the same
  // call may succeed later.
  absl::Status Update(const Eigen::Vector3d& position_map, StatusReport& report);

  // Ends waiting.
  void Cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MAP_FEEDER_H_
