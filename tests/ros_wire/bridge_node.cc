// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/bridge_node.h"

#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "tests/ros_wire/core_messages.h"
#include "tests/ros_wire/loopback_domain.h"
#include "tests/ros_wire/node_output.h"
#include "tests/ros_wire/node_ports.h"
#include "tests/ros_wire/transform_buffer.h"
#include "tests/ros_wire/values.h"

namespace voxloc::ros_wire {
namespace {

enum Group { kClouds, kPoses, kServices, kTime, kMapReplies, kGroups };

constexpr int64_t kTimerPeriod_ns = 1'000'000'000;
constexpr absl::Duration kTimerPoll = absl::Milliseconds(5);  // of simulated time, which jumps

constexpr Qos kAutowarePointsQos{false, false, 1};
constexpr Qos kReliablePointsQos{true, false, 1};

using AlignServer = ServiceServer<AlignRequest, AlignResponse>;
using TriggerServer = ServiceServer<SetBoolRequest, SetBoolResponse>;
using ReinitializeServer = ServiceServer<EmptyRequest, EmptyResponse>;

std::string TopicOf(const std::string& name) { return name.front() == '/' ? name : "/" + name; }

}  // namespace

struct BridgeNode::Parts {
  Parts(JoinedDomain joined, std::unique_ptr<Node> made, const BridgeNodeOptions& given)
      : options(given),
        domain(std::move(joined)),
        node(std::move(made)),
        clock(given.use_sim_time),
        output(*node, given.parameters.voxloc.shadow),
        map_loader(*node, kMapReplies) {}

  ~Parts() {
    stopped.Notify();
    if (timer.joinable()) timer.join();
    node->Stop();
    bridge.reset();
  }

  absl::Status Start() {
    ros::Ports ports;
    ports.clock = &clock;
    ports.transforms = &transforms;
    ports.output = &output;
    ports.log = &log;
    if (options.parameters.voxloc.map_feeder_enable) ports.map_loader = &map_loader;
    auto created = ros::Bridge::Create(options.name, options.parameters, ports);
    if (!created.ok()) return created.status();
    bridge = *std::move(created);
    SubscribeToTime();
    SubscribeToClouds();
    if (options.parameters.voxloc.pointcloud_map) SubscribeToMap();
    SubscribeToPoses();
    Serve();
    timer = std::thread([this] { RunTimer(); });
    return node->status();
  }

  void SubscribeToTime() {
    if (options.use_sim_time) {
      node->Subscribe<ClockMessage>(kTime, "/clock", kDefaultQos, [this](const ClockMessage& now) {
        clock.Set(FromWire(now.clock));
      });
    }
    node->Subscribe<TfMessage>(kTime, "/tf", kTfQos,
                               [this](const TfMessage& message) { Put(message, false); });
    node->Subscribe<TfMessage>(kTime, "/tf_static", kTfStaticQos,
                               [this](const TfMessage& message) { Put(message, true); });
  }

  void Put(const TfMessage& message, bool is_static) {
    for (const StampedTransform& transform : FromWire(message)) {
      transforms.Put(transform, is_static);
    }
  }

  void SubscribeToClouds() {
    std::vector<std::string> topics = {ros::kPointsTopic};
    const std::vector<std::string>& more = options.parameters.voxloc.points_extra_topics;
    topics.insert(topics.end(), more.begin(), more.end());
    for (size_t source = 0; source < topics.size(); ++source) {
      node->Subscribe<PointCloud2Message>(
          kClouds, TopicOf(topics[source]),
          options.reliable_clouds ? kReliablePointsQos : kAutowarePointsQos,
          [this, source](const PointCloud2Message& message) {
            const std::vector<ros::PointField> fields = FieldsOf(message);
            bridge->OnPoints(ViewOf(message, fields), source);
          });
    }
  }

  void SubscribeToMap() {
    node->Subscribe<PointCloud2Message>(kMapReplies, TopicOf(ros::kMapTopic), kLatchedQos,
                                        [this](const PointCloud2Message& message) {
                                          const std::vector<ros::PointField> fields =
                                              FieldsOf(message);
                                          bridge->OnPointCloudMap(ViewOf(message, fields));
                                        });
  }

  void SubscribeToPoses() {
    using Pose = PoseWithCovarianceStampedMessage;
    const Qos qos{true, false, ros::kPoseDepth};
    if (options.parameters.voxloc.guess_source == "odometry") {
      node->Subscribe<Pose>(kPoses, TopicOf(ros::kUserPoseTopic), qos,
                            [this](const Pose& pose) { bridge->OnUserPose(ToCore(pose)); });
    } else {
      node->Subscribe<Pose>(kPoses, TopicOf(ros::kInitialPoseTopic), qos,
                            [this](const Pose& pose) { bridge->OnInitialPose(ToCore(pose)); });
    }
    if (options.parameters.ndt.regularization_enable) {
      node->Subscribe<Pose>(
          kPoses, TopicOf(ros::kRegularizationPoseTopic), qos,
          [this](const Pose& pose) { bridge->OnRegularizationPose(ToCore(pose)); });
    }
    if (options.parameters.voxloc.shadow) {
      node->Subscribe<Pose>(kPoses, TopicOf(ros::kIncumbentPoseTopic), qos,
                            [this](const Pose& pose) { bridge->OnIncumbentPose(ToCore(pose)); });
    }
    if (options.parameters.voxloc.twist_source == "topic") {
      node->Subscribe<TwistStampedMessage>(
          kPoses, TopicOf(ros::kTwistTopic), qos,
          [this](const TwistStampedMessage& twist) { bridge->OnTwist(ToCore(twist)); });
      using WithCovariance = TwistWithCovarianceStampedMessage;
      node->Subscribe<WithCovariance>(
          kPoses, TopicOf(ros::kTwistWithCovarianceTopic), qos,
          [this](const WithCovariance& twist) { bridge->OnTwist(ToCore(twist)); });
    }
  }

  [[nodiscard]] std::string Offered(const char* service) const {
    return TopicOf(ros::OfferedName(service, options.parameters.voxloc.shadow));
  }

  void Serve() {
    align = std::make_unique<AlignServer>(
        *node, kServices, Offered(ros::kAlignService),
        [this](const AlignRequest& request, const AlignServer::Reply& reply) {
          bridge->Align(ToCore(request.pose_with_covariance),
                        [reply](const ros::AlignResponse& answer) {
                          AlignResponse response{};
                          response.success = answer.success;
                          response.reliable = answer.reliable;
                          response.pose_with_covariance = ToWire(answer.pose_with_covariance);
                          reply(response);
                        });
        });
    trigger = std::make_unique<TriggerServer>(
        *node, kServices, Offered(ros::kTriggerService),
        [this](const SetBoolRequest& request, const TriggerServer::Reply& reply) {
          const ros::TriggerResponse answer = bridge->Trigger(request.data);
          SetBoolResponse response{};
          response.success = answer.success;
          response.message = Borrow(answer.message);
          reply(response);
        });
    reinitialize = std::make_unique<ReinitializeServer>(
        *node, kServices, Offered(ros::kReinitializeService),
        [this](const EmptyRequest& /*request*/, const ReinitializeServer::Reply& reply) {
          // Nav2 does not wait for a search: the answer says that it has begun.
          bridge->Reinitialize([](const ros::AlignResponse& /*answer*/) {});
          reply({});
        });
  }

  // As a timer of rclcpp on the node's clock: periods that have passed at once count as one.
  void RunTimer() {
    int64_t next_ns = clock.NowNs() + kTimerPeriod_ns;
    while (!stopped.WaitForNotificationWithTimeout(kTimerPoll)) {
      const int64_t now_ns = clock.NowNs();
      if (now_ns < next_ns) continue;
      bridge->OnTimer();
      next_ns = now_ns + kTimerPeriod_ns;
    }
  }

  const BridgeNodeOptions options;
  const JoinedDomain domain;
  const std::unique_ptr<Node> node;
  NodeClock clock;
  NodeLog log;
  TransformBuffer transforms;
  NodeOutput output;
  NodeMapLoader map_loader;
  std::unique_ptr<ros::Bridge> bridge;
  std::unique_ptr<AlignServer> align;
  std::unique_ptr<TriggerServer> trigger;
  std::unique_ptr<ReinitializeServer> reinitialize;
  absl::Notification stopped;
  std::thread timer;
};

BridgeNode::BridgeNode(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
BridgeNode::~BridgeNode() = default;

absl::StatusOr<std::unique_ptr<BridgeNode>> BridgeNode::Create(const BridgeNodeOptions& options) {
  absl::StatusOr<JoinedDomain> domain = JoinedDomain::Join(options.settings);
  if (!domain.ok()) return domain.status();
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Create(domain->id(), kGroups);
  if (!node.ok()) return node.status();
  auto parts = std::make_unique<Parts>(*std::move(domain), *std::move(node), options);
  if (absl::Status status = parts->Start(); !status.ok()) return status;
  return std::unique_ptr<BridgeNode>(new BridgeNode(std::move(parts)));
}

const ros::Bridge& BridgeNode::bridge() const { return *parts_->bridge; }
int64_t BridgeNode::NowNs() const { return parts_->clock.NowNs(); }
bool BridgeNode::HasTransform(const std::string& target_frame, const std::string& source_frame,
                              int64_t stamp_ns) const {
  return parts_->transforms.Lookup(target_frame, source_frame, stamp_ns).ok();
}
bool BridgeNode::HasDiagnosticsReader() const { return parts_->output.HasDiagnosticsReader(); }
std::string BridgeNode::LogText() const { return parts_->log.Text(); }

}  // namespace voxloc::ros_wire
