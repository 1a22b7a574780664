// SPDX-License-Identifier: Apache-2.0
//
// The smaller ports of the bridge on a node: its clock, its log, and the client of the map loader.

#ifndef VOXLOC_TESTS_ROS_WIRE_NODE_PORTS_H_
#define VOXLOC_TESTS_ROS_WIRE_NODE_PORTS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/ros/core/ports.h"
#include "tests/ros_wire/service.h"

namespace voxloc::ros_wire {

// Time since the Unix epoch, or what was set last (use_sim_time; 0 until then, as in ROS).
class NodeClock : public ros::Clock {
 public:
  explicit NodeClock(bool simulated) : simulated_(simulated) {}
  void Set(int64_t now_ns) { simulated_ns_ = now_ns; }
  [[nodiscard]] int64_t NowNs() const override;
  [[nodiscard]] bool IsSimulated() const override { return simulated_; }

 private:
  const bool simulated_;
  std::atomic<int64_t> simulated_ns_{0};
};

class NodeLog : public ros::Log {
 public:
  void Write(ros::LogLevel level, absl::string_view text) override;
  [[nodiscard]] std::string Text() const;

 private:
  mutable absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
};

class NodeMapLoader : public ros::MapLoader {
 public:
  NodeMapLoader(Node& node, int group) : client_(node, group, "/pcd_loader_service") {}
  ~NodeMapLoader() override { Join(); }
  [[nodiscard]] bool IsReady() const override { return client_.IsAvailable(); }
  void Request(const ros::MapAreaRequest& request, Done done) override;

 private:
  void Join();

  ServiceClient<MapLoadRequest, MapLoadResponse> client_;
  std::thread caller_;  // of the request that is open
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_NODE_PORTS_H_
