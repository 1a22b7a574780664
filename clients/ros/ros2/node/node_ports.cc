// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/ros2/node/node_ports.h"

#include <autoware_map_msgs/srv/get_differential_point_cloud_map.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"
#include "clients/ros/ros2/node/ros_versions.h"

namespace voxloc::ros2 {
namespace {

// /tf_static is transient local, which intra-process communication does not support in Humble, so
// it is off for both topics.
rclcpp::SubscriptionOptions NoIntraProcess() {
  rclcpp::SubscriptionOptions options;
  options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  return options;
}

using autoware_internal_debug_msgs::msg::Float32Stamped;
using autoware_internal_debug_msgs::msg::Int32Stamped;
using diagnostic_msgs::msg::DiagnosticArray;
using geometry_msgs::msg::PoseArray;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::PoseWithCovarianceStamped;
using geometry_msgs::msg::TwistWithCovarianceStamped;
using sensor_msgs::msg::PointCloud2;
using visualization_msgs::msg::MarkerArray;

// As Autoware's DiagnosticsInterface has it.
constexpr char kDiagnosticsTopic[] = "/diagnostics";
constexpr size_t kDiagnosticsDepth = 10;
constexpr int64_t kLogPeriodMs = 1000;

template <typename Message>
rclcpp::PublisherBase::SharedPtr CreateFor(rclcpp::Node& node, const ros::TopicInfo& info,
                                           const std::string& name) {
  rclcpp::QoS qos(static_cast<size_t>(info.depth));
  rclcpp::PublisherOptions options;
  if (info.transient_local) {
    qos.transient_local();
    // Humble does not support transient local topics with intra-process communication.
    options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  }
  return node.create_publisher<Message>(name, qos, options);
}

rclcpp::PublisherBase::SharedPtr Create(rclcpp::Node& node, const ros::TopicInfo& info,
                                        bool shadow) {
  const std::string name = ros::OfferedName(info.name, shadow);
  switch (info.type) {
    case ros::MessageType::kPoseStamped:
      return CreateFor<PoseStamped>(node, info, name);
    case ros::MessageType::kPoseWithCovarianceStamped:
      return CreateFor<PoseWithCovarianceStamped>(node, info, name);
    case ros::MessageType::kTwistWithCovarianceStamped:
      return CreateFor<TwistWithCovarianceStamped>(node, info, name);
    case ros::MessageType::kPoseArray:
      return CreateFor<PoseArray>(node, info, name);
    case ros::MessageType::kPointCloud2:
      return CreateFor<PointCloud2>(node, info, name);
    case ros::MessageType::kFloat32Stamped:
      return CreateFor<Float32Stamped>(node, info, name);
    case ros::MessageType::kInt32Stamped:
      return CreateFor<Int32Stamped>(node, info, name);
    case ros::MessageType::kMarkerArray:
      return CreateFor<MarkerArray>(node, info, name);
  }
  throw std::logic_error(std::string("no publisher for the type of the topic ") + info.name);
}

template <typename Message>
std::unique_ptr<Message> Owned(Message message) {
  return std::make_unique<Message>(std::move(message));
}

// The node's time: /clock with use_sim_time.
class NodeClock : public ros::Clock {
 public:
  explicit NodeClock(rclcpp::Node& node) : clock_(node.get_clock()) {}

  [[nodiscard]] int64_t NowNs() const override { return clock_->now().nanoseconds(); }
  [[nodiscard]] bool IsSimulated() const override { return clock_->ros_time_is_active(); }

 private:
  rclcpp::Clock::SharedPtr clock_;
};

// /tf and /tf_static, received by a thread of its own: no callback of the node waits for it.
class NodeTransforms : public ros::TransformLookup {
 public:
  explicit NodeTransforms(rclcpp::Node& node)
      : buffer_(node.get_clock()),
        listener_(buffer_, &node, /*spin_thread=*/true, tf2_ros::DynamicListenerQoS(),
                  tf2_ros::StaticListenerQoS(), NoIntraProcess(), NoIntraProcess()) {}

  [[nodiscard]] absl::StatusOr<Pose> Lookup(const std::string& target_frame,
                                            const std::string& source_frame,
                                            std::optional<int64_t> stamp_ns) const override {
    const tf2::TimePoint time =
        stamp_ns ? tf2::TimePoint(std::chrono::nanoseconds(*stamp_ns)) : tf2::TimePointZero;
    try {
      return FromRos(buffer_.lookupTransform(target_frame, source_frame, time).transform);
    } catch (const tf2::ExtrapolationException& error) {
      return absl::OutOfRangeError(error.what());
    } catch (const tf2::TransformException& error) {
      return absl::NotFoundError(error.what());
    }
  }

 private:
  tf2_ros::Buffer buffer_;
  tf2_ros::TransformListener listener_;
};

class NodeLog : public ros::Log {
 public:
  explicit NodeLog(rclcpp::Node& node) : logger_(node.get_logger()) {}

  void Write(ros::LogLevel level, absl::string_view text) override {
    const int length = static_cast<int>(text.size());
    switch (level) {
      case ros::LogLevel::kDebug:
        RCLCPP_DEBUG(logger_, "%.*s", length, text.data());
        break;
      case ros::LogLevel::kInfo:
        RCLCPP_INFO(logger_, "%.*s", length, text.data());
        break;
      case ros::LogLevel::kWarn:
        RCLCPP_WARN(logger_, "%.*s", length, text.data());
        break;
      case ros::LogLevel::kError:
        RCLCPP_ERROR(logger_, "%.*s", length, text.data());
        break;
    }
  }

 private:
  rclcpp::Logger logger_;
};

// The topics of the bridge as publishers of a node, /diagnostics, and except in shadow mode /tf.
//
// Threads: as ros::Output says. A message that cannot be published is an error in the log, at most
// one a second, and nothing else.
class NodeOutput : public ros::Output {
 public:
  NodeOutput(rclcpp::Node& node, bool shadow)
      : logger_(node.get_logger()),
        diagnostics_(node.create_publisher<DiagnosticArray>(kDiagnosticsTopic, kDiagnosticsDepth)) {
    if (!shadow) transforms_.emplace(node);
    for (const ros::TopicInfo& info : ros::PublishedTopics()) {
      publishers_.push_back(Create(node, info, shadow));
    }
  }

  [[nodiscard]] bool HasSubscribers(ros::Topic topic) const override {
    const rclcpp::PublisherBase& publisher = *publishers_[static_cast<size_t>(topic)];
    try {
      return publisher.get_subscription_count() + publisher.get_intra_process_subscription_count() >
             0;
    } catch (const std::exception&) {
      return false;  // ROS is being shut down
    }
  }

  void Publish(ros::Topic topic, const ros::PoseStamped& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, const ros::TwistWithCovarianceStamped& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, const ros::PoseArray& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, ros::PointCloud2 message) override {
    Send(topic, ToRos(std::move(message)));
  }
  void Publish(ros::Topic topic, const ros::Float32Stamped& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, const ros::Int32Stamped& message) override {
    Send(topic, Owned(ToRos(message)));
  }
  void Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) override {
    Send(topic, Owned(ToRos(message)));
  }

  void PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) override {
    auto message = std::make_unique<DiagnosticArray>();
    message->header.stamp = ToTime(stamp_ns);
    message->status.push_back(ToRos(status));
    Guard(kDiagnosticsTopic, [&] { diagnostics_->publish(std::move(message)); });
  }
  void Broadcast(const ros::TransformStamped& transform) override {
    if (!transforms_) return;
    Guard("/tf", [&] { transforms_->sendTransform(ToRos(transform)); });
  }

 private:
  // Publishes a message by unique_ptr, so that subscribers in the same process get it without a
  // copy.
  template <typename Message>
  void Send(ros::Topic topic, std::unique_ptr<Message> message) {
    Guard(ros::InfoOf(topic).name, [&] {
      std::static_pointer_cast<rclcpp::Publisher<Message>>(publishers_[static_cast<size_t>(topic)])
          ->publish(std::move(message));
    });
  }

  template <typename Function>
  void Guard(const char* what, const Function& function) {
    try {
      function();
    } catch (const std::exception& error) {
      if (rclcpp::ok()) {
        RCLCPP_ERROR_THROTTLE(logger_, steady_clock_, kLogPeriodMs, "%s was not published: %s",
                              what, error.what());
      }
    }
  }

  rclcpp::Logger logger_;
  rclcpp::Clock steady_clock_{RCL_STEADY_TIME};
  std::vector<rclcpp::PublisherBase::SharedPtr> publishers_;  // by Topic
  rclcpp::Publisher<DiagnosticArray>::SharedPtr diagnostics_;
  std::optional<tf2_ros::TransformBroadcaster> transforms_;
};

// The client of pcd_loader_service, in a callback group of its own. Thread-safe.
class NodeMapLoader : public ros::MapLoader {
 public:
  explicit NodeMapLoader(rclcpp::Node& node)
      : group_(node.create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive)),
        client_(node.create_client<Service>(ros::kMapLoaderClient, ServicesQos(), group_)) {}
  // A pending request ends with Cancelled.
  ~NodeMapLoader() override { AbortPending(absl::CancelledError("the node is being shut down")); }
  NodeMapLoader(const NodeMapLoader&) = delete;
  NodeMapLoader& operator=(const NodeMapLoader&) = delete;

  [[nodiscard]] bool IsReady() const override {
    try {
      return client_->service_is_ready();
    } catch (const std::exception&) {
      return false;  // ROS is being shut down
    }
  }

  // A request without an answer ends with DeadlineExceeded when the next one is sent.
  void Request(const ros::MapAreaRequest& request, Done done) override {
    AbortPending(absl::DeadlineExceededError(
        absl::StrCat(client_->get_service_name(), " has not answered the request before")));
    auto message = std::make_shared<Service::Request>();
    message->area.center_x = request.center_x;
    message->area.center_y = request.center_y;
    message->area.radius = request.radius;
    message->cached_ids = request.cached_ids;
    const auto pending = std::make_shared<PendingRequest>();
    pending->done = std::move(done);
    const auto answered = [pending](rclcpp::Client<Service>::SharedFuture future) {
      const Done callback = pending->TakeCallback();
      if (!callback) return;
      const std::shared_ptr<Service::Response> response = future.get();
      std::vector<CloudView> clouds;
      clouds.reserve(response->new_pointcloud_with_ids.size());
      Area area;
      for (const auto& tile : response->new_pointcloud_with_ids) {
        clouds.emplace_back(tile.pointcloud);
        area.tiles_to_add.push_back({tile.cell_id, clouds.back().view()});
      }
      area.ids_to_remove = response->ids_to_remove;
      callback(std::move(area));
    };
    try {
      const int64_t request_id = client_->async_send_request(message, answered).request_id;
      const std::lock_guard<std::mutex> lock(mutex_);
      pending_ = pending;
      request_id_ = request_id;
    } catch (const std::exception& error) {
      if (const Done callback = pending->TakeCallback()) {
        callback(absl::UnavailableError(
            absl::StrCat(client_->get_service_name(), " was not called: ", error.what())));
      }
    }
  }

 private:
  using Service = autoware_map_msgs::srv::GetDifferentialPointCloudMap;

  // A request. It ends with its answer, an error or the next request, whichever is first.
  struct PendingRequest {
    // Returns the callback to the first caller, and null to all others.
    Done TakeCallback() {
      const std::lock_guard<std::mutex> lock(mutex);
      return std::exchange(done, nullptr);
    }

    std::mutex mutex;
    Done done;
  };

  // Ends the open request, if there is one, with this error.
  void AbortPending(const absl::Status& error) {
    std::shared_ptr<PendingRequest> pending;
    std::optional<int64_t> request_id;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      pending = std::exchange(pending_, nullptr);
      request_id = std::exchange(request_id_, std::nullopt);
    }
    if (request_id) {
      client_->remove_pending_request(*request_id);  // answered ones are no longer pending
    }
    if (const Done done = pending ? pending->TakeCallback() : nullptr) done(error);
  }

  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::Client<Service>::SharedPtr client_;
  std::mutex mutex_;
  std::shared_ptr<PendingRequest> pending_;  // the last one
  std::optional<int64_t> request_id_;
};

}  // namespace

NodePorts::NodePorts(rclcpp::Node& node, const ros::BridgeParameters& parameters)
    : clock(std::make_unique<NodeClock>(node)),
      transforms(std::make_unique<NodeTransforms>(node)),
      log(std::make_unique<NodeLog>(node)),
      output(std::make_unique<NodeOutput>(node, parameters.shadow)),
      map_loader(parameters.map_feeder_enable ? std::make_unique<NodeMapLoader>(node) : nullptr) {}

}  // namespace voxloc::ros2
