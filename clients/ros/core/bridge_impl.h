// SPDX-License-Identifier: Apache-2.0
//
// The state of a Bridge. bridge.cc has the services and the timer, bridge_inputs.cc the processing
// of scans from clouds to outputs and the other topics. Included by these files only.

#ifndef VOXLOC_CLIENTS_ROS_CORE_BRIDGE_IMPL_H_
#define VOXLOC_CLIENTS_ROS_CORE_BRIDGE_IMPL_H_

#include <Eigen/Core>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/bridge.h"
#include "clients/ros/core/diagnostics.h"
#include "clients/ros/core/histories.h"
#include "clients/ros/core/map_area.h"
#include "clients/ros/core/ports.h"
#include "clients/ros/core/result_outputs.h"
#include "clients/ros/core/scan_assembler.h"
#include "clients/ros/core/serial_worker.h"
#include "clients/ros/core/shadow_comparison.h"
#include "clients/ros/core/topic_map.h"

namespace voxloc::ros {

// LogThrottle: writes each kind of message at most once a second of real time. Thread-safe.
class LogThrottle {
 public:
  explicit LogThrottle(Log* log) : log_(log) {}

  // `kind`: a string literal that identifies the message.
  void Write(const char* kind, LogLevel level, absl::string_view text) {
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto [last, is_new] = last_.emplace(kind, now);
      if (!is_new && now - last->second < std::chrono::seconds(1)) return;
      last->second = now;
    }
    log_->Write(level, text);
  }

 private:
  Log* log_;
  std::mutex mutex_;
  std::map<absl::string_view, std::chrono::steady_clock::time_point> last_;
};

class BridgeImpl : public Bridge {
 public:
  BridgeImpl(std::string a_node_name, const Parameters& some_parameters, const Ports& some_ports,
             const client::Channel& a_channel);
  ~BridgeImpl() override;

  // A cloud that has passed the checks of its own.
  struct SourceCloud {
    int64_t stamp_ns = 0;
    EncodedCloud encoded;
    std::optional<Pose> base_T_sensor;
    // Of the leading source.
    std::chrono::steady_clock::time_point received;
    int64_t now_ns = 0;
    std::shared_ptr<ScanStatus> status;
  };

  // A scan that was sent.
  struct InFlight {
    int64_t stamp_ns = 0;
    std::chrono::steady_clock::time_point received;
    std::shared_ptr<ScanStatus> status;
    std::vector<PoseSample> poses;
  };

  // bridge_inputs.cc: scans
  void OnPoints(const PointCloud2View& cloud, size_t source) override;
  [[nodiscard]] absl::StatusOr<std::optional<Pose>> LookupMount(const Header& header) const;
  void OnScan(std::vector<SourceCloud> clouds);
  // Sets guess, motion and reference position; false: there is no guess. Needs the lock.
  [[nodiscard]] bool AddGuessAndMotion(InFlight& flight, v1::Scan& scan);
  void Send(InFlight flight, v1::Scan scan);
  void RejectScan(const std::shared_ptr<ScanStatus>& status, int64_t stamp_ns);
  void OnResult(uint64_t number, const v1::AlignmentResult& result);
  void Finish(uint64_t number, const InFlight& flight, const v1::AlignmentResult& result);
  // A scan's outcome in shadow mode, with its pose where it was published.
  void AddToShadow(int64_t stamp_ns, const std::optional<Pose>& map_T_base);
  void PublishShadow(const std::vector<ShadowScan>& scans);

  // bridge_inputs.cc: other topics
  void OnInitialPose(const PoseWithCovarianceStamped& pose) override;
  void OnRegularizationPose(const PoseWithCovarianceStamped& pose) override;
  void OnTwist(const TwistStamped& twist) override;
  void OnUserPose(const PoseWithCovarianceStamped& pose) override;
  void OnIncumbentPose(const PoseWithCovarianceStamped& pose) override;
  [[nodiscard]] std::optional<Pose> OdometryAt(std::optional<int64_t> stamp_ns) const;
  [[nodiscard]] std::optional<Twist> TwistAt(int64_t stamp_ns) const;  // under the lock

  // bridge.cc
  void OnPointCloudMap(const PointCloud2View& cloud) override;
  void OnTimer() override;
  void UpdateMap(int64_t now_ns, const Eigen::Vector3d& position_map, StatusReport report);
  [[nodiscard]] DiagnosticStatus ServerStatus() const;
  [[nodiscard]] TriggerResponse Trigger(bool activate) override;
  void Align(const PoseWithCovarianceStamped& request, AlignDone done) override;
  void Reinitialize(AlignDone done) override;
  [[nodiscard]] bool is_activated() const override { return activated; }
  [[nodiscard]] BridgeCounters counters() const override {
    return {received, refused, sent, outcomes, published, dropped_outputs};
  }
  [[nodiscard]] ServerState server() const override { return link.state(); }
  [[nodiscard]] AlignCall MakeAlignCall();
  [[nodiscard]] ServerLinkOptions LinkOptions();
  void OnConnection(const absl::Status& connection);

  // Hands a task to the thread that publishes.
  void Publish(std::function<void()> task);
  void PublishStatus(int64_t stamp_ns, DiagnosticStatus status);

  const std::string node_name;
  const Parameters parameters;
  const Ports ports;
  const client::Channel channel;
  const CloudEncodingOptions encoding;
  LogThrottle log;

  std::atomic<bool> activated;
  std::atomic<uint64_t> received{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> outcomes{0};
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> dropped_outputs{0};
  std::atomic<bool> map_busy{false};
  std::atomic<bool> loaded_map_due{false};

  mutable std::mutex mutex;  // guards the next group
  PoseHistory poses;
  ReferenceHistory references;
  TwistHistory twists;
  OdometryGuess guess;
  uint64_t user_poses = 0;  // on initialpose
  ScanAssembler<SourceCloud> assembler;
  std::shared_ptr<const v1::Scan> last_scan;  // that passed the checks; without a guess
  std::optional<Eigen::Vector3d> position_map;
  MapArea area;
  std::map<uint64_t, InFlight> in_flight;
  uint64_t last_number = 0;

  // Of the thread that publishes.
  ResultOutputs outputs;
  SkippedScans skipped;
  ShadowComparison shadow;
  uint32_t fusion_resets = 0;  // of the last answer with a pose of the session's filter

  // The order matters: each member uses those before it and is destroyed first.
  SerialWorker publisher;
  std::unique_ptr<MapFeeder> feeder;    // null: off
  std::unique_ptr<TopicMap> topic_map;  // null: off
  ServerLink link;
  AlignService align;
  SerialWorker map_worker;
};

// The scan's odom_T_base, if it has a valid one.
[[nodiscard]] std::optional<Pose> OdometryOf(const v1::Scan& scan);

// The covariance if it is finite, symmetric and positive definite, else nullopt. Publishers that
// have no covariance leave it at 0, which the contract rejects.
[[nodiscard]] std::optional<Matrix6> UsableCovariance(const Matrix6& covariance);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_BRIDGE_IMPL_H_
