// SPDX-License-Identifier: Apache-2.0
//
// TopicMap: the map of the topic pointcloud_map, brought to the server as the session's map.
// Thread-safe; only the destructor waits for the network.

#ifndef VOXLOC_CLIENTS_ROS_CORE_TOPIC_MAP_H_
#define VOXLOC_CLIENTS_ROS_CORE_TOPIC_MAP_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_upload.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/parameters.h"
#include "clients/ros/core/serial_worker.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::ros {

class TopicMap {
 public:
  // Points of a message. At 12 bytes each, the vehicle holds 240 MB until they are loaded, and
  // twice as much for a moment. Larger maps are loaded with `voxloc map load`.
  static constexpr size_t kMaxPoints = 20'000'000;
  // A map that could not be loaded is tried again after this.
  static constexpr double kRetryS = 10.0;

  // `publish` gets a pointcloud_map_status for every message that is refused and every attempt to
  // load one, with the message's stamp.
  TopicMap(const client::Channel& channel, const Parameters& parameters,
           const std::string& node_name,
           std::function<void(int64_t stamp_ns, const DiagnosticStatus& status)> publish,
           double retry_s = kRetryS);
  // Breaks off what is being loaded.
  ~TopicMap();

  // Copies the points, and takes the place of a map that was not loaded yet.
  void Set(const PointCloud2View& cloud);

  // Begins the next attempt to load the map, where one is due.
  void OnTimer();

 private:
  struct WaitingMap {
    int64_t stamp_ns = 0;
    size_t points_left_out = 0;            // not finite, or too far away for a map
    std::optional<PointCloud> points_map;  // nullopt: they are in `tiles`
    std::vector<client::UploadTile> tiles;
    uint64_t points = 0;  // in `tiles`
  };

  [[nodiscard]] absl::StatusOr<WaitingMap> Read(const PointCloud2View& cloud) const;
  // Null: none waits, or its next attempt is not due yet.
  [[nodiscard]] std::shared_ptr<WaitingMap> DueMap();
  void Load();
  // The tiles' `load` ends with Cancelled once this object is being destroyed.
  absl::Status CutIntoTiles(WaitingMap& map) const;
  // A map that the server has already stays as it is, without a new revision.
  [[nodiscard]] absl::StatusOr<client::UploadResult> Upload(WaitingMap& map) const;

  const client::Channel channel_;
  const Parameters& parameters_;
  const std::string node_name_;
  const std::function<void(int64_t, const DiagnosticStatus&)> publish_;
  const double retry_s_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards the next group
  std::shared_ptr<WaitingMap> waiting_;
  std::chrono::steady_clock::time_point next_attempt_;
  SerialWorker worker_{1};  // goes first
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_TOPIC_MAP_H_
