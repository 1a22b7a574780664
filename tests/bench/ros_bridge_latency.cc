// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/ros_bridge_latency.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "clients/pointcloud2/cloud_encoding.h"
#include "clients/ros/core/bridge.h"
#include "tests/clients/ros/fake_ports.h"
#include "tests/support/eventually.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Accepts every scan where the map begins.
class LatencyService : public v1::LocalizationService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::AlignScansResponse, v1::AlignScansRequest>;
  grpc::Status AlignScans(grpc::ServerContext* /*context*/, Stream* stream) override {
    v1::AlignScansRequest request;
    while (stream->Read(&request)) {
      v1::AlignScansResponse response;
      if (request.has_open()) {
        response.mutable_opened()->set_session("bench");
      } else if (request.has_scan()) {
        v1::AlignmentResult& result = *response.mutable_result();
        result.set_sequence(request.scan().sequence());
        result.set_stamp_ns(request.scan().stamp_ns());
        result.set_status(v1::ALIGNMENT_STATUS_OK);
        result.set_accepted(true);
        v1::Pose& pose = *result.mutable_map_t_base()->mutable_pose();
        pose.mutable_position();
        pose.mutable_orientation()->set_w(1.0);
      } else {
        continue;
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
};

// A moment that another thread reports.
class Moment {
 public:
  void Report() {
    const Clock::time_point now = Clock::now();
    const std::lock_guard<std::mutex> lock(mutex_);
    time_ = now;
    changed_.notify_all();
  }
  // Milliseconds from `start` to the next report; nullopt: none came within 30 s.
  std::optional<double> Await(Clock::time_point start) {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(30), [this] { return time_.has_value(); });
    if (!came) return std::nullopt;
    const std::chrono::duration<double, std::milli> took = *time_ - start;
    time_.reset();
    return took.count();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> time_;
};

// Reports poses, which nobody reads.
class PoseOutput : public ros::Output {
 public:
  explicit PoseOutput(Moment& published) : published_(published) {}
  [[nodiscard]] bool HasSubscribers(ros::Topic /*topic*/) const override { return false; }
  void Publish(ros::Topic topic, const ros::PoseStamped& /*message*/) override {
    if (topic == ros::Topic::kNdtPose) published_.Report();
  }
  void Publish(ros::Topic /*topic*/, const ros::PoseWithCovarianceStamped& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const ros::TwistWithCovarianceStamped& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const ros::PoseArray& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, ros::PointCloud2 /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const ros::Float32Stamped& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const ros::Int32Stamped& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const std::vector<ros::ArrowMarker>& /*message*/) override {}
  void PublishDiagnostics(int64_t /*stamp_ns*/, const ros::DiagnosticStatus& /*status*/) override {}
  void Broadcast(const ros::TransformStamped& /*transform*/) override {}

 private:
  Moment& published_;
};

}  // namespace

absl::StatusOr<RosBridgeTimes> MeasureRosBridge(const ros::PointCloud2View& cloud, size_t repeat) {
  LatencyService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("no port for the server of the benchmark");
  const std::string address = absl::StrCat("127.0.0.1:", port);

  ros::FakePorts fakes;
  Moment published;
  PoseOutput output(published);
  ros::Ports ports = fakes.ports();
  ports.output = &output;
  fakes.transforms.Set("base_link", cloud.header.frame_id, Pose());
  ros::Parameters parameters;
  parameters.voxloc.server = address;
  parameters.voxloc.activate_at_start = true;
  parameters.voxloc.guess_source = "odometry";  // needs no poses
  parameters.voxloc.odom_frame = "odom";
  auto bridge = ros::Bridge::Create("bench", parameters, ports);
  if (!bridge.ok()) return bridge.status();

  client::ChannelOptions channel_options;
  channel_options.server = address;
  const auto channel = client::Channel::Create(channel_options);
  if (!channel.ok()) return channel.status();
  Moment answered;
  client::SessionOptions session_options;
  session_options.on_result = [&answered](const v1::AlignmentResult&) { answered.Report(); };
  auto session = client::LocalizationSession::Open(*channel, session_options);
  if (!session.ok()) return session.status();
  if (!Eventually([&] { return (*bridge)->server().connection.ok(); })) {
    return (*bridge)->server().connection;
  }

  const auto encoded = ros::EncodeCloud(cloud, std::nullopt, ros::CloudEncodingOptions());
  if (!encoded.ok()) return encoded.status();
  RosBridgeTimes times;
  for (size_t i = 0; i <= repeat; ++i) {
    Clock::time_point start = Clock::now();
    (*bridge)->OnPoints(cloud);
    const std::optional<double> bridge_ms = published.Await(start);
    v1::Scan scan;
    *scan.add_clouds()->mutable_cloud() = encoded->cloud;
    start = Clock::now();
    const auto sent = (*session)->Send(std::move(scan));
    if (!sent.ok()) return sent.status();
    const std::optional<double> round_trip_ms = answered.Await(start);
    if (!bridge_ms.has_value() || !round_trip_ms.has_value()) {
      return absl::UnavailableError("a scan was not answered within 30 s");
    }
    if (i == 0) continue;
    times.bridge_ms.push_back(*bridge_ms);
    times.round_trip_ms.push_back(*round_trip_ms);
    times.added_ms.push_back(*bridge_ms - *round_trip_ms);
  }
  return times;
}

}  // namespace voxloc::bench
