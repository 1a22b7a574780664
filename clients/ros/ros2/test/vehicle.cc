// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/test/vehicle.h"

#include <autoware_internal_debug_msgs/msg/float32_stamped.hpp>
#include <autoware_internal_debug_msgs/msg/int32_stamped.hpp>
#include <geometry_msgs/msg/pose_array.hpp>
#include <utility>
#include <visualization_msgs/msg/marker_array.hpp>

#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {
namespace {

using autoware_internal_debug_msgs::msg::Float32Stamped;
using autoware_internal_debug_msgs::msg::Int32Stamped;
using diagnostic_msgs::msg::DiagnosticArray;
using geometry_msgs::msg::PoseArray;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::PoseWithCovarianceStamped;
using sensor_msgs::msg::PointCloud2;
using visualization_msgs::msg::MarkerArray;

constexpr std::chrono::seconds kServiceTimeout(30);
// The variances of Autoware's initial poses: metres and radians, squared.
constexpr double kPoseVariance = 0.25;
constexpr double kAngleVariance = 0.0007;

}  // namespace

Vehicle::Vehicle(const std::string& name, const Pose& base_T_sensor)
    : name_(name),
      node_(std::make_shared<rclcpp::Node>("vehicle")),
      static_transforms_(node_),
      points_(node_->create_publisher<PointCloud2>(ros::kPointsTopic,
                                                   rclcpp::SensorDataQoS().keep_last(1))),
      poses_(node_->create_publisher<PoseWithCovarianceStamped>(ros::kInitialPoseTopic, 10)),
      clock_(node_->create_publisher<rosgraph_msgs::msg::Clock>("/clock", rclcpp::ClockQoS())),
      trigger_(node_->create_client<std_srvs::srv::SetBool>(ros::kTriggerService)),
      align_(node_->create_client<AlignServiceType>(ros::kAlignService)),
      reinitialize_(node_->create_client<std_srvs::srv::Empty>(ros::kReinitializeService)) {
  ros::TransformStamped mount;
  mount.header.frame_id = "base_link";
  mount.child_frame_id = kSensorFrame;
  mount.parent_T_child = base_T_sensor;
  static_transforms_.sendTransform(ToRos(mount));

  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    switch (info.type) {
      case ros::MessageType::kPoseStamped:
        if (info.topic != ros::Topic::kNdtPose) {
          Count<PoseStamped>(info.name);
        }
        break;
      case ros::MessageType::kPoseWithCovarianceStamped:
        if (info.topic != ros::Topic::kNdtPoseWithCovariance) {
          Count<PoseWithCovarianceStamped>(info.name);
        }
        break;
      case ros::MessageType::kPoseArray:
        Count<PoseArray>(info.name);
        break;
      case ros::MessageType::kPointCloud2:
        Count<PointCloud2>(info.name);
        break;
      case ros::MessageType::kFloat32Stamped:
        Count<Float32Stamped>(info.name);
        break;
      case ros::MessageType::kInt32Stamped:
        Count<Int32Stamped>(info.name);
        break;
      case ros::MessageType::kMarkerArray:
        Count<MarkerArray>(info.name);
        break;
    }
  }
  subscriptions_.push_back(node_->create_subscription<PoseStamped>(
      ros::InfoOf(ros::Topic::kNdtPose).name, 100, [this](const PoseStamped& message) {
        Change([&](Record& record) { record.ndt_poses.push_back(message); });
      }));
  subscriptions_.push_back(node_->create_subscription<PoseWithCovarianceStamped>(
      ros::InfoOf(ros::Topic::kNdtPoseWithCovariance).name, 100,
      [this](const PoseWithCovarianceStamped& message) {
        Change([&](Record& record) { record.covariances.push_back(message); });
      }));
  subscriptions_.push_back(node_->create_subscription<tf2_msgs::msg::TFMessage>(
      "/tf", 100, [this](const tf2_msgs::msg::TFMessage& message) {
        Change([&](Record& record) {
          record.transforms.insert(record.transforms.end(), message.transforms.begin(),
                                   message.transforms.end());
        });
      }));
  subscriptions_.push_back(node_->create_subscription<DiagnosticArray>(
      "/diagnostics", 100, [this](const DiagnosticArray& message) {
        Change([&](Record& record) {
          for (const auto& status : message.status) {
            const std::string prefix = name_ + ": ";
            if (status.name.compare(0, prefix.size(), prefix) == 0) {
              record.diagnostics[status.name.substr(prefix.size())].push_back(message);
            }
          }
        });
      }));
}

template <typename Message>
void Vehicle::Count(const std::string& topic) {
  subscriptions_.push_back(
      node_->create_subscription<Message>(topic, 100, [this, topic](const Message& /*message*/) {
        Change([&](Record& record) { record.messages[topic] += 1; });
      }));
}

void Vehicle::Change(const std::function<void(Record&)>& change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  change(record_);
  changed_.notify_all();
}

Vehicle::Record Vehicle::record() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return record_;
}

bool Vehicle::WaitFor(const std::function<bool(const Record&)>& condition, double timeout_s) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                           [&] { return condition(record_); });
}

std::optional<diagnostic_msgs::msg::DiagnosticStatus> Vehicle::StatusOf(int64_t stamp_ns,
                                                                        double timeout_s) {
  std::optional<diagnostic_msgs::msg::DiagnosticStatus> found;
  const bool came = WaitFor(
      [&](const Record& record) {
        const auto statuses = record.diagnostics.find("scan_matching_status");
        if (statuses == record.diagnostics.end()) {
          return false;
        }
        for (const DiagnosticArray& message : statuses->second) {
          if (StampNs(message.header.stamp) == stamp_ns) {
            found = message.status.front();
            return true;
          }
        }
        return false;
      },
      timeout_s);
  return came ? found : std::nullopt;
}

void Vehicle::PublishScan(PointCloud2 scan) {
  points_->publish(std::make_unique<PointCloud2>(std::move(scan)));
}

void Vehicle::PublishPose(int64_t stamp_ns, const Pose& map_T_base, const std::string& frame_id) {
  ros::PoseWithCovarianceStamped pose;
  pose.header = {stamp_ns, frame_id};
  pose.pose = map_T_base;
  pose.covariance.diagonal() << kPoseVariance, kPoseVariance, kPoseVariance, kAngleVariance,
      kAngleVariance, kAngleVariance;
  poses_->publish(ToRos(pose));
}

void Vehicle::PublishClock(int64_t now_ns) {
  rosgraph_msgs::msg::Clock clock;
  clock.clock = ToTime(now_ns);
  clock_->publish(clock);
}

template <typename Service>
typename Service::Response::SharedPtr Vehicle::Call(
    const typename rclcpp::Client<Service>::SharedPtr& client,
    const typename Service::Request::SharedPtr& request) {
  if (!client->wait_for_service(kServiceTimeout)) {
    return nullptr;
  }
  auto future = client->async_send_request(request).future.share();
  if (future.wait_for(kServiceTimeout) != std::future_status::ready) {
    return nullptr;
  }
  return future.get();
}

bool Vehicle::Trigger(bool activate) {
  const auto request = std::make_shared<std_srvs::srv::SetBool::Request>();
  request->data = activate;
  const auto response = Call<std_srvs::srv::SetBool>(trigger_, request);
  return response && response->success;
}

AlignServiceType::Response::SharedPtr Vehicle::Align(const PoseWithCovarianceStamped& pose) {
  const auto request = std::make_shared<AlignServiceType::Request>();
  request->pose_with_covariance = pose;
  return Call<AlignServiceType>(align_, request);
}

bool Vehicle::Reinitialize() {
  return Call<std_srvs::srv::Empty>(reinitialize_,
                                    std::make_shared<std_srvs::srv::Empty::Request>()) != nullptr;
}

}  // namespace voxloc::ros2
