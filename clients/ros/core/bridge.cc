// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/bridge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/ros/core/bridge_impl.h"
#include "clients/ros/core/parameter_table.h"
#include "clients/ros/core/session_request.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

// Queued outputs: 5 s of 10 scans, 50 poses and some other messages a second.
constexpr size_t kMaxWaitingOutputs = 512;
constexpr char kAutowareNode[] = "ndt_scan_matcher";

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

}  // namespace

ServerLinkOptions BridgeImpl::LinkOptions() {
  ServerLinkOptions options;
  options.open = OpenSessionFrom(parameters, node_name, ports.clock->IsSimulated());
  options.on_result = [this](uint64_t number, const v1::AlignmentResult& result) {
    OnResult(number, result);
  };
  options.max_wait_s = parameters.sensor_points.timeout_sec;
  options.on_change = [this](const absl::Status& connection) { OnConnection(connection); };
  return options;
}

BridgeImpl::BridgeImpl(std::string a_node_name, const Parameters& some_parameters,
                       const Ports& some_ports, const client::Channel& a_channel)
    : node_name(std::move(a_node_name)),
      parameters(some_parameters),
      ports(some_ports),
      channel(a_channel),
      encoding(EncodingFrom(parameters.voxloc)),
      log(ports.log),
      activated(parameters.voxloc.activate_at_start || parameters.voxloc.shadow),
      assembler(1 + parameters.voxloc.points_extra_topics.size(),
                Nanoseconds(parameters.voxloc.points_max_stamp_difference_sec)),
      area(parameters.dynamic_map_loading),
      outputs(parameters, *ports.output),
      publisher(kMaxWaitingOutputs),
      feeder(parameters.voxloc.map_feeder_enable
                 ? std::make_unique<MapFeeder>(channel, parameters, *ports.map_loader)
                 : nullptr),
      topic_map(parameters.voxloc.pointcloud_map
                    ? std::make_unique<TopicMap>(
                          channel, parameters, node_name,
                          [this](int64_t stamp_ns, const DiagnosticStatus& status) {
                            if (status.level != DiagnosticStatus::kOk) {
                              log.Write("pointcloud_map", LogLevel::kError, status.message);
                            }
                            PublishStatus(stamp_ns, status);
                          })
                    : nullptr),
      link(channel, LinkOptions()),
      align(channel, parameters, node_name, ports,
            [this](std::function<void()> task) { Publish(std::move(task)); }),
      map_worker(1) {}

BridgeImpl::~BridgeImpl() {
  if (feeder != nullptr) feeder->Cancel();
}

void BridgeImpl::Publish(std::function<void()> task) {
  if (publisher.Post(std::move(task))) return;
  ++dropped_outputs;
  log.Write("slow", LogLevel::kWarn, "outputs are dropped: publishing takes too long");
}

void BridgeImpl::PublishStatus(int64_t stamp_ns, DiagnosticStatus status) {
  Publish([this, stamp_ns, status = std::move(status)] {
    ports.output->PublishDiagnostics(stamp_ns, status);
  });
}

void BridgeImpl::OnConnection(const absl::Status& connection) {
  if (connection.ok()) {
    log.Write("connected", LogLevel::kInfo,
              absl::StrCat("connected to ", channel.server(), ", map ", parameters.voxloc.map));
  } else {
    log.Write("not connected", LogLevel::kWarn,
              absl::StrCat("not connected to a server: ", connection.message()));
  }
}

void BridgeImpl::OnPointCloudMap(const PointCloud2View& cloud) {
  if (topic_map != nullptr) topic_map->Set(cloud);
}

void BridgeImpl::OnTimer() {
  if (topic_map != nullptr) topic_map->OnTimer();
  const int64_t now_ns = ports.clock->NowNs();
  StatusReport report(node_name, kMapUpdateStatus);
  report.SetInt("timer_callback_time_stamp", now_ns);
  bool due = false;
  std::optional<Eigen::Vector3d> position;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    position = position_map;
    due = area.Check(activated, position, report);
  }
  if (due) loaded_map_due = parameters.dynamic_map_loading.publish_loaded_map;
  const bool feeds = due && feeder != nullptr;
  const bool shows = loaded_map_due && ports.output->HasSubscribers(Topic::kLoadedPointCloudMap);
  PublishStatus(now_ns, ServerStatus());
  // At most one update runs at a time.
  if ((feeds || shows) && position.has_value() && !map_busy.exchange(true)) {
    const bool posted = map_worker.Post([this, now_ns, place = *position, report] {
      UpdateMap(now_ns, place, report);
      map_busy = false;
    });
    if (posted) return;
    map_busy = false;
  }
  PublishStatus(now_ns, report.Status());
}

void BridgeImpl::UpdateMap(int64_t now_ns, const Eigen::Vector3d& position, StatusReport report) {
  if (feeder != nullptr && !feeder->Update(position, report).ok()) {
    const std::lock_guard<std::mutex> lock(mutex);
    area.Reset();
  }
  PublishStatus(now_ns, report.Status());
  if (!loaded_map_due || !ports.output->HasSubscribers(Topic::kLoadedPointCloudMap)) return;
  absl::StatusOr<PointCloud2> cloud = FetchMapAround(
      channel, parameters.voxloc.map, position, parameters.dynamic_map_loading.map_radius,
      {ports.clock->NowNs(), parameters.frame.map_frame});
  if (!cloud.ok()) {
    log.Write("loaded map", LogLevel::kWarn,
              absl::StrCat("debug/loaded_pointcloud_map: ", cloud.status().message()));
    return;
  }
  loaded_map_due = false;
  auto shared = std::make_shared<PointCloud2>(*std::move(cloud));
  Publish(
      [this, shared] { ports.output->Publish(Topic::kLoadedPointCloudMap, std::move(*shared)); });
}

DiagnosticStatus BridgeImpl::ServerStatus() const {
  const ServerState state = link.state();
  StatusReport report(node_name, kServerStatus);
  report.SetText("server", state.server);
  report.SetBool("is_connected", state.connection.ok());
  report.SetText("server_version", state.opened.server_version());
  report.SetText("session", state.opened.session());
  report.SetText("engine", state.opened.engine());
  report.SetText("map", parameters.voxloc.map);
  report.SetInt("map_revision", state.opened.map_revision());
  report.SetInt("sessions_opened", state.sessions);
  report.SetInt("scans_sent", state.sent);
  report.SetInt("scans_answered", state.answered);
  report.SetInt("scans_given_up", state.given_up);
  report.SetInt("bytes_sent", state.bytes_sent);
  report.SetInt("outputs_dropped", dropped_outputs.load());
  if (!state.connection.ok()) {
    report.Error(absl::StrCat("not connected: ", state.connection.message()));
  }
  const v1::Profile& profile = state.opened.profile();
  const int score_stage = static_cast<int>(profile.score_stage());
  if (score_stage < profile.stages_size()) {
    const double cell_size_m = profile.stages(score_stage).cells().cell_size_m();
    report.SetDouble("cell_size", cell_size_m);
    if (parameters.voxloc.profile == "autoware" && cell_size_m != parameters.ndt.resolution) {
      report.Warn(absl::StrCat("the cells of map ", parameters.voxloc.map, " have ", cell_size_m,
                               " m, ndt.resolution is ", parameters.ndt.resolution,
                               " m: thresholds of scores hold for one cell size"));
    }
  }
  return report.Status();
}

TriggerResponse BridgeImpl::Trigger(bool activate) {
  const int64_t now_ns = ports.clock->NowNs();
  StatusReport report(node_name, kTriggerServiceStatus);
  report.SetInt("service_call_time_stamp", now_ns);
  activated = activate;
  if (activate) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      poses.Clear();
    }
    link.Activate();
  }
  TriggerResponse response;
  report.SetBool("is_activated", activate);
  report.SetBool("is_succeed_service", response.success);
  PublishStatus(now_ns, report.Status());
  return response;
}

AlignCall BridgeImpl::MakeAlignCall() {
  AlignCall call;
  call.now_ns = ports.clock->NowNs();
  call.map_known = !link.state().opened.session().empty();
  const std::lock_guard<std::mutex> lock(mutex);
  call.scan = last_scan;
  return call;
}

void BridgeImpl::Align(const PoseWithCovarianceStamped& request, AlignDone done) {
  AlignCall call = MakeAlignCall();
  call.prior = request;
  if (feeder != nullptr) {
    call.before_search = [this](const Eigen::Vector3d& position, StatusReport& report) {
      // The report has the error; the server may still have the map.
      feeder->Update(position, report).IgnoreError();
    };
  }
  align.Call(std::move(call), std::move(done));
}

void BridgeImpl::Reinitialize(AlignDone done) {
  AlignCall call = MakeAlignCall();
  const std::shared_ptr<const v1::Scan> scan = call.scan;
  align.Call(std::move(call), [this, scan, done = std::move(done)](const AlignResponse& response) {
    if (response.success && response.reliable && !response.ambiguous) {
      const std::lock_guard<std::mutex> lock(mutex);
      guess.Set({response.pose_with_covariance.pose, Matrix6::Zero()}, OdometryOf(*scan));
    }
    done(response);
  });
}

absl::StatusOr<std::unique_ptr<Bridge>> Bridge::Create(std::string node_name,
                                                       const Parameters& parameters,
                                                       const Ports& ports) {
  VOXLOC_TRY(ValidateParameters(parameters));
  if (parameters.voxloc.map_feeder_enable && ports.map_loader == nullptr) {
    return absl::InvalidArgumentError(
        "parameter voxloc.map_feeder.enable must be false: the adapter has no client of "
        "pcd_loader_service");
  }
  if (parameters.voxloc.shadow && node_name == kAutowareNode) {
    return absl::InvalidArgumentError(
        absl::StrCat("a node with voxloc.shadow must have another name than ", kAutowareNode,
                     ": Autoware's diagnostic graph would take its status for the vehicle's"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel,
                          client::Channel::Create(ChannelOptionsFrom(parameters.voxloc)));
  return std::make_unique<BridgeImpl>(std::move(node_name), parameters, ports, channel);
}

}  // namespace voxloc::ros
