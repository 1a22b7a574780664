// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/peer.h"

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/ros_wire/inbox.h"
#include "tests/ros_wire/service.h"
#include "tests/support/eventually.h"

namespace voxloc::ros_wire {
namespace {

enum Group { kReadings, kReplies, kMapLoader, kGroups };

constexpr char kScanStatus[] = "scan_matching_status";
constexpr char kIterationTopic[] = "iteration_num";

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Vector3Message ToWire(const Eigen::Vector3d& vector) {
  return {vector.x(), vector.y(), vector.z()};
}

}  // namespace

const std::vector<std::string>& NumberTopics() {
  static const std::vector<std::string> topics = {
      "exe_time_ms",
      "transform_probability",
      "nearest_voxel_transformation_likelihood",
      "no_ground_transform_probability",
      "no_ground_nearest_voxel_transformation_likelihood",
      "initial_to_result_distance",
      "initial_to_result_distance_old",
      "initial_to_result_distance_new",
      kIterationTopic};
  return topics;
}

struct Peer::Parts {
  Parts(std::unique_ptr<Node> made, const std::string& a_prefix)
      : prefix(a_prefix),
        node(std::move(made)),
        clock(node->Advertise<ClockMessage>("/clock", kDefaultQos)),
        clouds(node->Advertise<PointCloud2Message>("/points_raw", kDefaultQos)),
        ekf_poses(node->Advertise<PoseWithCovarianceStampedMessage>("/ekf_pose_with_covariance",
                                                                    kDefaultQos)),
        gnss_poses(node->Advertise<PoseWithCovarianceStampedMessage>(
            "/regularization_pose_with_covariance", kDefaultQos)),
        second_lidar(
            node->Advertise<PointCloud2Message>(absl::StrCat("/", kSecondLidarTopic), kDefaultQos)),
        map(node->Advertise<PointCloud2Message>("/pointcloud_map", kLatchedQos)),
        incumbent_poses(prefix.empty() ? Writer<PoseWithCovarianceStampedMessage>()
                                       : node->Advertise<PoseWithCovarianceStampedMessage>(
                                             "/ndt_pose_with_covariance", kDefaultQos)),
        given_poses(node->Advertise<PoseWithCovarianceStampedMessage>("/initialpose", kDefaultQos)),
        twists_with_covariance(node->Advertise<TwistWithCovarianceStampedMessage>(
            "/twist_with_covariance", kDefaultQos)),
        twists(node->Advertise<TwistStampedMessage>("/twist", kDefaultQos)),
        transforms_out(node->Advertise<TfMessage>("/tf", kTfQos)),
        static_transforms(node->Advertise<TfMessage>("/tf_static", kTfStaticQos)),
        align(*node, kReplies, prefix + "/ndt_align_srv"),
        trigger(*node, kReplies, prefix + "/trigger_node_srv"),
        reinitialize(*node, kReplies, prefix + "/reinitialize_global_localization") {
    Read<PoseStampedMessage>("/ndt_pose", &poses);
    Read<PoseWithCovarianceStampedMessage>("/ndt_pose_with_covariance", &poses_with_covariance);
    Read<PoseWithCovarianceStampedMessage>("/initial_pose_with_covariance", &initial_poses);
    Read<PoseStampedMessage>("/initial_to_result_relative_pose", &relative_poses);
    Read<PoseStampedMessage>("/incumbent_to_result_relative_pose", &differences);
    Read<PointCloud2Message>("/points_aligned", &debug_clouds["points_aligned"]);
    Read<MarkerArrayMessage>("/ndt_marker", &arrows["ndt_marker"]);
    for (const std::string& topic : NumberTopics()) {
      if (topic == kIterationTopic) {
        Read<Int32StampedMessage>("/" + topic, &numbers[topic]);
      } else {
        Read<Float32StampedMessage>("/" + topic, &numbers[topic]);
      }
    }
    node->Subscribe<TfMessage>(kReadings, "/tf", kTfQos, [this](const TfMessage& message) {
      for (StampedTransform& transform : FromWire(message)) transforms.Put(std::move(transform));
    });
    node->Subscribe<DiagnosticArrayMessage>(
        kReadings, "/diagnostics", kDefaultQos,
        [this](const DiagnosticArrayMessage& message) { TakeIn(message); });
  }

  ~Parts() { node->Stop(); }

  template <typename Message, typename Value>
  void Read(const std::string& topic, Inbox<Value>* inbox, const Qos& qos = kDefaultQos) {
    node->Subscribe<Message>(kReadings, prefix + topic, qos,
                             [inbox](const Message& message) { inbox->Put(FromWire(message)); });
  }

  void TakeIn(const DiagnosticArrayMessage& message) {
    for (const Diagnostic& diagnostic : FromWire(message)) {
      // Who waits for the count may then take the statuses, so that they are there before it.
      diagnostics.Put(diagnostic);
      const absl::MutexLock lock(&mutex);
      newest[diagnostic.name] = diagnostic;
      if (EndsWith(diagnostic.name, kScanStatus)) ++scan_statuses;
    }
  }

  const std::string prefix;
  const std::unique_ptr<Node> node;
  const Writer<ClockMessage> clock;
  const Writer<PointCloud2Message> clouds;
  const Writer<PoseWithCovarianceStampedMessage> ekf_poses;
  const Writer<PoseWithCovarianceStampedMessage> gnss_poses;
  const Writer<PointCloud2Message> second_lidar;
  const Writer<PointCloud2Message> map;
  const Writer<PoseWithCovarianceStampedMessage> incumbent_poses;
  const Writer<PoseWithCovarianceStampedMessage> given_poses;
  const Writer<TwistWithCovarianceStampedMessage> twists_with_covariance;
  const Writer<TwistStampedMessage> twists;
  const Writer<TfMessage> transforms_out;
  const Writer<TfMessage> static_transforms;
  Inbox<StampedPose> poses;
  Inbox<StampedPose> poses_with_covariance;
  Inbox<StampedPose> initial_poses;
  Inbox<StampedTransform> transforms;
  Inbox<Diagnostic> diagnostics;
  Inbox<StampedPose> relative_poses;
  Inbox<StampedPose> differences;
  // By the topic; entries come from the constructor and ListenToDebugTopics.
  std::map<std::string, Inbox<Cloud>> debug_clouds;
  std::map<std::string, Inbox<StampedArrows>> arrows;
  std::map<std::string, Inbox<StampedPoses>> pose_arrays;
  std::map<std::string, Inbox<StampedNumber>> numbers;
  mutable absl::Mutex mutex;
  std::map<std::string, Diagnostic> newest ABSL_GUARDED_BY(mutex);
  size_t scan_statuses ABSL_GUARDED_BY(mutex) = 0;
  ServiceClient<AlignRequest, AlignResponse> align;
  ServiceClient<SetBoolRequest, SetBoolResponse> trigger;
  ServiceClient<EmptyRequest, EmptyResponse> reinitialize;
  std::unique_ptr<ServiceServer<MapLoadRequest, MapLoadResponse>> map_loader;
};

Peer::Peer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Peer::~Peer() = default;

absl::StatusOr<std::unique_ptr<Peer>> Peer::Create(dds_domainid_t domain,
                                                   const std::string& prefix) {
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Create(domain, kGroups);
  if (!node.ok()) return node.status();
  auto parts = std::make_unique<Parts>(*std::move(node), prefix);
  if (absl::Status status = parts->node->status(); !status.ok()) return status;
  return std::unique_ptr<Peer>(new Peer(std::move(parts)));
}

bool Peer::AwaitReaders(absl::Duration timeout) {
  return Eventually(
      [this] {
        return parts_->clouds.readers() > 0 &&
               parts_->ekf_poses.readers() + parts_->given_poses.readers() > 0 &&
               (parts_->prefix.empty() || parts_->incumbent_poses.readers() > 0);
      },
      timeout);
}

bool Peer::AwaitNode(absl::Duration timeout) {
  return AwaitReaders(timeout) &&
         Eventually([this] { return parts_->align.IsAvailable() && parts_->trigger.IsAvailable(); },
                    timeout);
}

bool Peer::AwaitReaderOfSecondLidar(absl::Duration timeout) {
  return Eventually([this] { return parts_->second_lidar.readers() > 0; }, timeout);
}

bool Peer::AwaitReaderOfTwists(absl::Duration timeout) {
  return Eventually(
      [this] {
        return parts_->twists.readers() > 0 && parts_->twists_with_covariance.readers() > 0;
      },
      timeout);
}

void Peer::ListenToDebugTopics() {
  for (const char* topic : {"points_aligned_no_ground", "voxel_score_points"}) {
    parts_->Read<PointCloud2Message>(absl::StrCat("/", topic), &parts_->debug_clouds[topic]);
  }
  constexpr char kMapTopic[] = "debug/loaded_pointcloud_map";
  parts_->Read<PointCloud2Message>(absl::StrCat("/", kMapTopic), &parts_->debug_clouds[kMapTopic],
                                   kLatchedQos);
  for (const char* topic : {"multi_ndt_pose", "multi_initial_pose"}) {
    parts_->Read<PoseArrayMessage>(absl::StrCat("/", topic), &parts_->pose_arrays[topic]);
  }
  constexpr char kParticleTopic[] = "monte_carlo_initial_pose_marker";
  parts_->Read<MarkerArrayMessage>(absl::StrCat("/", kParticleTopic),
                                   &parts_->arrows[kParticleTopic]);
}

void Peer::PublishClock(int64_t now_ns) { parts_->clock.Write({ros_wire::ToWire(now_ns)}); }

void Peer::Publish(const Cloud& cloud) { parts_->clouds.Write(CloudOnWire(cloud).message()); }

void Peer::PublishOfSecondLidar(const Cloud& cloud) {
  parts_->second_lidar.Write(CloudOnWire(cloud).message());
}

void Peer::PublishMap(const Cloud& cloud) { parts_->map.Write(CloudOnWire(cloud).message()); }

void Peer::PublishEkfPose(const StampedPose& map_T_base) {
  parts_->ekf_poses.Write(ros_wire::ToWire(map_T_base));
}

void Peer::PublishGnssPose(const StampedPose& map_T_base) {
  parts_->gnss_poses.Write(ros_wire::ToWire(map_T_base));
}

void Peer::PublishIncumbentPose(const StampedPose& map_T_base) {
  parts_->incumbent_poses.Write(ros_wire::ToWire(map_T_base));
}

void Peer::PublishInitialPose(const StampedPose& frame_T_base) {
  parts_->given_poses.Write(ros_wire::ToWire(frame_T_base));
}

void Peer::PublishTwist(int64_t stamp_ns, const std::string& base_frame, const Twist& base_twist) {
  TwistStampedMessage message{};
  message.header = ros_wire::ToWire(stamp_ns, base_frame);
  message.twist = {ToWire(base_twist.linear_m_s), ToWire(base_twist.angular_rad_s)};
  parts_->twists.Write(message);
}

void Peer::PublishTwistWithCovariance(int64_t stamp_ns, const std::string& base_frame,
                                      const Twist& base_twist) {
  TwistWithCovarianceStampedMessage message{};
  message.header = ros_wire::ToWire(stamp_ns, base_frame);
  message.twist.twist = {ToWire(base_twist.linear_m_s), ToWire(base_twist.angular_rad_s)};
  parts_->twists_with_covariance.Write(message);
}

void Peer::PublishTransform(const StampedTransform& transform) {
  TransformStampedMessage one = ros_wire::ToWire(transform);
  TfMessage message{};
  message.transforms._length = message.transforms._maximum = 1;
  message.transforms._buffer = &one;
  parts_->transforms_out.Write(message);
}

void Peer::PublishStaticTransform(const StampedTransform& transform) {
  TransformStampedMessage one = ros_wire::ToWire(transform);
  TfMessage message{};
  message.transforms._length = message.transforms._maximum = 1;
  message.transforms._buffer = &one;
  parts_->static_transforms.Write(message);
}

std::set<std::string> Peer::TopicsOfOthers() const { return parts_->node->TopicsOfOthers(); }

void Peer::OfferMap(std::function<MapAnswer(const MapQuestion&)> loader) {
  using Server = ServiceServer<MapLoadRequest, MapLoadResponse>;
  parts_->map_loader = std::make_unique<Server>(
      *parts_->node, kMapLoader, "/pcd_loader_service",
      [loader = std::move(loader)](const MapLoadRequest& request, const Server::Reply& reply) {
        MapQuestion question;
        question.center_x = static_cast<double>(request.area.center_x);
        question.center_y = static_cast<double>(request.area.center_y);
        question.radius_m = static_cast<double>(request.area.radius);
        for (uint32_t i = 0; i < request.cached_ids._length; ++i) {
          question.cached_ids.emplace_back(request.cached_ids._buffer[i]);
        }
        const MapAnswer answer = loader(question);
        std::deque<CloudOnWire> clouds;
        std::vector<MapCellMessage> cells;
        for (const MapCell& cell : answer.added) {
          const auto& [min_x, min_y, max_x, max_y] = cell.min_x_min_y_max_x_max_y;
          cells.push_back({Borrow(cell.id),
                           clouds.emplace_back(cell.cloud).message(),
                           {min_x, min_y, max_x, max_y}});
        }
        std::vector<char*> removed;
        for (const std::string& id : answer.removed_ids) removed.push_back(Borrow(id));
        const std::string frame = "map";
        MapLoadResponse response{};
        response.header = ros_wire::ToWire(0, frame);
        response.new_pointcloud_with_ids._length = response.new_pointcloud_with_ids._maximum =
            static_cast<uint32_t>(cells.size());
        response.new_pointcloud_with_ids._buffer = cells.data();
        response.ids_to_remove._length = response.ids_to_remove._maximum =
            static_cast<uint32_t>(removed.size());
        response.ids_to_remove._buffer = removed.data();
        reply(response);
      });
}

std::optional<AlignAnswer> Peer::CallAlign(const StampedPose& pose, absl::Duration timeout) {
  AlignRequest request{};
  request.pose_with_covariance = ros_wire::ToWire(pose);
  AlignAnswer answer;
  const bool answered = parts_->align.Call(
      request,
      [&answer](const AlignResponse& response) {
        answer = {response.success, response.reliable, FromWire(response.pose_with_covariance)};
      },
      timeout);
  if (!answered) return std::nullopt;
  return answer;
}

std::optional<TriggerAnswer> Peer::CallTrigger(bool activate, absl::Duration timeout) {
  SetBoolRequest request{};
  request.data = activate;
  TriggerAnswer answer;
  const bool answered = parts_->trigger.Call(
      request,
      [&answer](const SetBoolResponse& response) {
        answer = {response.success, response.message == nullptr ? "" : response.message};
      },
      timeout);
  if (!answered) return std::nullopt;
  return answer;
}

bool Peer::CallReinitialize(absl::Duration timeout) {
  return parts_->reinitialize.Call(
      {}, [](const EmptyResponse& /*response*/) {}, timeout);
}

std::vector<StampedPose> Peer::TakePoses() { return parts_->poses.Take(); }
std::vector<StampedPose> Peer::TakePosesWithCovariance() {
  return parts_->poses_with_covariance.Take();
}
std::vector<StampedPose> Peer::TakeInitialPoses() { return parts_->initial_poses.Take(); }
std::vector<StampedTransform> Peer::TakeTransforms() { return parts_->transforms.Take(); }
std::vector<Diagnostic> Peer::TakeDiagnostics() { return parts_->diagnostics.Take(); }
std::vector<StampedPose> Peer::TakeRelativePoses() { return parts_->relative_poses.Take(); }
std::vector<StampedPose> Peer::TakeDifferences() { return parts_->differences.Take(); }
std::vector<Cloud> Peer::TakeClouds(const std::string& topic) {
  return parts_->debug_clouds.at(topic).Take();
}
std::vector<StampedArrows> Peer::TakeArrows(const std::string& topic) {
  return parts_->arrows.at(topic).Take();
}
std::vector<StampedPoses> Peer::TakePoseArrays(const std::string& topic) {
  return parts_->pose_arrays.at(topic).Take();
}
std::vector<StampedNumber> Peer::TakeNumbers(const std::string& topic) {
  return parts_->numbers.at(topic).Take();
}

std::optional<Diagnostic> Peer::NewestDiagnostic(const std::string& name) const {
  const absl::MutexLock lock(&parts_->mutex);
  const auto found = parts_->newest.find(name);
  if (found == parts_->newest.end()) return std::nullopt;
  return found->second;
}

size_t Peer::poses_received() const { return parts_->poses.received(); }

size_t Peer::scan_statuses_received() const {
  const absl::MutexLock lock(&parts_->mutex);
  return parts_->scan_statuses;
}

}  // namespace voxloc::ros_wire
