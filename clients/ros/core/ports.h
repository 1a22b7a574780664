// SPDX-License-Identifier: Apache-2.0
//
// Interfaces that the bridge needs: clock, transforms, log and outputs. An adapter (rclcpp, DDS, a
// test) implements them.
//
// Threads. Clock, TransformLookup and Log are called from any thread, also from several at once,
// and must not wait. Output is called by one thread of the bridge's own, one call after another, so
// that a slow subscriber delays no callback; HasSubscribers alone is called from any thread. No
// port is called while the bridge waits for the network, and none may call back into the bridge.

#ifndef VOXLOC_CLIENTS_ROS_CORE_PORTS_H_
#define VOXLOC_CLIENTS_ROS_CORE_PORTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/ros/core/messages.h"
#include "clients/ros/core/topics.h"

namespace voxloc::ros {

class Clock {
 public:
  virtual ~Clock() = default;
  // The node's time: that of the stamps.
  [[nodiscard]] virtual int64_t NowNs() const = 0;
  // Whether it is a clock of its own (use_sim_time) in place of time since the Unix epoch.
  [[nodiscard]] virtual bool IsSimulated() const = 0;
};

class TransformLookup {
 public:
  virtual ~TransformLookup() = default;
  // target_T_source at the stamp, or the latest that is known (nullopt). At once, from what has
  // arrived: NotFound, OutOfRange, with tf's own text.
  [[nodiscard]] virtual absl::StatusOr<Pose> Lookup(const std::string& target_frame,
                                                    const std::string& source_frame,
                                                    std::optional<int64_t> stamp_ns) const = 0;
};

enum class LogLevel { kDebug, kInfo, kWarn, kError };

class Log {
 public:
  virtual ~Log() = default;
  // One line. The bridge repeats a message at most once a second.
  virtual void Write(LogLevel level, absl::string_view text) = 0;
};

class Output {
 public:
  virtual ~Output() = default;
  // Outputs that cost the server or the link are requested only if this is true.
  [[nodiscard]] virtual bool HasSubscribers(Topic topic) const = 0;

  // The message is of the topic's own type, see topics.h.
  virtual void Publish(Topic topic, const PoseStamped& message) = 0;
  virtual void Publish(Topic topic, const PoseWithCovarianceStamped& message) = 0;
  virtual void Publish(Topic topic, const TwistWithCovarianceStamped& message) = 0;
  virtual void Publish(Topic topic, const PoseArray& message) = 0;
  virtual void Publish(Topic topic, PointCloud2 message) = 0;
  virtual void Publish(Topic topic, const Float32Stamped& message) = 0;
  virtual void Publish(Topic topic, const Int32Stamped& message) = 0;
  virtual void Publish(Topic topic, const std::vector<ArrowMarker>& message) = 0;

  virtual void PublishDiagnostics(int64_t stamp_ns, const DiagnosticStatus& status) = 0;
  virtual void Broadcast(const TransformStamped& transform) = 0;
};

// autoware_map_msgs/GetDifferentialPointCloudMap. Only where the map feeder is on.
struct MapAreaRequest {
  float center_x = 0.0F;
  float center_y = 0.0F;
  float radius = 0.0F;
  std::vector<std::string> cached_ids;
};

class MapLoader {
 public:
  // The view is valid during the call.
  struct Tile {
    std::string cell_id;
    PointCloud2View points_map;
  };
  struct Area {
    std::vector<Tile> tiles_to_add;
    std::vector<std::string> ids_to_remove;
  };
  using Done = std::function<void(absl::StatusOr<Area>)>;

  virtual ~MapLoader() = default;
  // Whether the service is there.
  [[nodiscard]] virtual bool IsReady() const = 0;
  // Sends the request and returns; `done` is called once, from any thread, with an error where no
  // answer comes. At most one request is open.
  virtual void Request(const MapAreaRequest& request, Done done) = 0;
};

// All outlive the bridge. `map_loader` is null where the map feeder is off.
struct Ports {
  const Clock* clock = nullptr;
  const TransformLookup* transforms = nullptr;
  Output* output = nullptr;
  Log* log = nullptr;
  MapLoader* map_loader = nullptr;
};

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_PORTS_H_
