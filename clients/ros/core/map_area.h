// SPDX-License-Identifier: Apache-2.0
//
// The map around the vehicle, as in Autoware's dynamic map loading: when to update it, its points,
// and the upload of the vehicle's own map.

#ifndef VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_
#define VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_

#include <Eigen/Core>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/ports.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::ros {

// When to update the map: at first, and whenever the vehicle has moved by update_distance since the
// last update. Not thread-safe.
class MapArea {
 public:
  explicit MapArea(const DynamicMapLoadingParameters& parameters) : parameters_(parameters) {}

  // The checks of Autoware's timer, with their keys. True: update the map now; the position becomes
  // that of the last update.
  bool Check(bool is_activated, const std::optional<Eigen::Vector3d>& position_map,
             StatusReport& report);

  // Makes the next check update, after a failed update or one outside of the timer.
  void Reset() { last_position_map_.reset(); }

 private:
  DynamicMapLoadingParameters parameters_;
  std::optional<Eigen::Vector3d> last_position_map_;
};

// Points of debug/loaded_pointcloud_map at most; a map with more around the place is cut to the
// tiles that fit, in the order of their ids. 120 MB of x, y, z.
inline constexpr size_t kMaxLoadedMapPoints = 10'000'000;

// The points of all tiles of the server's map that touch the square of side 2 * radius_m around the
// position. Waits for the network.
[[nodiscard]] absl::StatusOr<PointCloud2> FetchMapAround(const client::Channel& channel,
                                                         const std::string& map,
                                                         const Eigen::Vector3d& position_map,
                                                         double radius_m, const Header& header);

// MapFeeder: uploads the tiles that pcd_loader_service has near the vehicle to a map of the server,
// so that a vehicle can use its own map without a separate upload. It only adds tiles that the
// server does not have, and removes none, so that several vehicles can feed one map. Thread-safe;
// Update blocks on the network, so call it on a worker thread.
class MapFeeder {
 public:
  // Timeout of the loader's answer; Autoware's node has none.
  static constexpr double kLoaderTimeoutS = 30.0;

  // The loader outlives it.
  MapFeeder(const client::Channel& channel, const Parameters& parameters, MapLoader& loader)
      : channel_(channel), parameters_(parameters), loader_(loader) {}

  // Requests the tiles around the position from the loader and adds them to the map. Sets the keys
  // of Autoware's map update in the report. Not ok: some or all tiles were not added; retry later.
  absl::Status Update(const Eigen::Vector3d& position_map, StatusReport& report);

  // Makes a blocked Update return.
  void Cancel() { cancelled_ = true; }

 private:
  struct LoadedTile {
    std::string id;
    PointCloud points_map;
  };
  struct LoadedArea {
    std::vector<LoadedTile> tiles;
    size_t ids_to_remove = 0;
  };

  [[nodiscard]] static absl::StatusOr<LoadedArea> LoadArea(absl::StatusOr<MapLoader::Area> area);
  // The ids of the tiles that the server has.
  absl::Status FetchTileIds();
  absl::StatusOr<LoadedArea> RequestArea(const Eigen::Vector3d& position_map);
  absl::Status Upload(std::vector<LoadedTile> tiles);

  const client::Channel channel_;
  const Parameters& parameters_;
  MapLoader& loader_;
  std::atomic<bool> cancelled_{false};
  std::mutex update_mutex_;                   // guards the rest
  std::optional<std::set<std::string>> ids_;  // nullopt: not known
  bool map_exists_ = false;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_MAP_AREA_H_
