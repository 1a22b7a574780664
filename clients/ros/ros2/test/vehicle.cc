// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/ros2/test/vehicle.h"

#include <array>
#include <autoware_internal_debug_msgs/msg/float32_stamped.hpp>
#include <autoware_internal_debug_msgs/msg/int32_stamped.hpp>
#include <cstring>
#include <geometry_msgs/msg/pose_array.hpp>
#include <geometry_msgs/msg/twist_with_covariance_stamped.hpp>
#include <random>
#include <utility>
#include <visualization_msgs/msg/marker_array.hpp>

#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {
namespace {

using autoware_internal_debug_msgs::msg::Float32Stamped;
using autoware_internal_debug_msgs::msg::Int32Stamped;
using diagnostic_msgs::msg::DiagnosticArray;
using geometry_msgs::msg::PoseArray;
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::PoseWithCovarianceStamped;
using geometry_msgs::msg::TwistWithCovarianceStamped;
using sensor_msgs::msg::PointCloud2;
using visualization_msgs::msg::MarkerArray;

constexpr std::chrono::seconds kServiceTimeout(30);
// The variances of Autoware's initial poses: metres and radians, squared.
constexpr double kPoseVariance = 0.25;
constexpr double kAngleVariance = 0.0007;

constexpr double kLength = 40.0;
constexpr double kWidth = 24.0;
constexpr double kHeight = 6.0;
constexpr double kSpacing = 0.2;
constexpr double kScatter = 0.02;

// A rectangle of points: corner, and two edges with their lengths.
void AddRectangle(const Eigen::Vector3d& corner, const Eigen::Vector3d& u, double u_length,
                  const Eigen::Vector3d& v, double v_length, std::mt19937& random,
                  std::vector<Eigen::Vector3d>& points) {
  std::normal_distribution<double> scatter(0.0, kScatter);
  for (double a = 0.0; a <= u_length; a += kSpacing) {
    for (double b = 0.0; b <= v_length; b += kSpacing) {
      const Eigen::Vector3d noise(scatter(random), scatter(random), scatter(random));
      points.push_back(corner + a * u + b * v + noise);
    }
  }
}

sensor_msgs::msg::PointField Field(const char* name, uint32_t offset) {
  sensor_msgs::msg::PointField field;
  field.name = name;
  field.offset = offset;
  field.datatype = sensor_msgs::msg::PointField::FLOAT32;
  field.count = 1;
  return field;
}

template <size_t N>
sensor_msgs::msg::PointCloud2 Message(const std::array<const char*, N>& fields) {
  sensor_msgs::msg::PointCloud2 message;
  message.height = 1;
  message.point_step = 4 * N;
  for (size_t i = 0; i < N; ++i) {
    message.fields.push_back(Field(fields[i], static_cast<uint32_t>(4 * i)));
  }
  message.is_dense = true;
  return message;
}

template <size_t N>
void Append(const std::array<float, N>& values, sensor_msgs::msg::PointCloud2& message) {
  const size_t at = message.data.size();
  message.data.resize(at + sizeof(values));
  std::memcpy(message.data.data() + at, values.data(), sizeof(values));
  message.width += 1;
  message.row_step += message.point_step;
}

}  // namespace

Vehicle::Vehicle(const std::string& name, const Pose& base_T_sensor, bool shadow)
    : name_(name),
      shadow_(shadow),
      node_(std::make_shared<rclcpp::Node>("vehicle")),
      static_transforms_(node_),
      points_(node_->create_publisher<PointCloud2>(ros::kPointsTopic,
                                                   rclcpp::SensorDataQoS().keep_last(1))),
      poses_(node_->create_publisher<PoseWithCovarianceStamped>(ros::kInitialPoseTopic, 10)),
      clock_(node_->create_publisher<rosgraph_msgs::msg::Clock>("/clock", rclcpp::ClockQoS())),
      trigger_(node_->create_client<std_srvs::srv::SetBool>(
          ros::OfferedName(ros::kTriggerService, shadow))),
      align_(node_->create_client<AlignServiceType>(ros::OfferedName(ros::kAlignService, shadow))),
      reinitialize_(node_->create_client<std_srvs::srv::Empty>(
          ros::OfferedName(ros::kReinitializeService, shadow))) {
  ros::TransformStamped mount;
  mount.header.frame_id = "base_link";
  mount.child_frame_id = kSensorFrame;
  mount.parent_T_child = base_T_sensor;
  static_transforms_.sendTransform(ToRos(mount));

  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    switch (info.type) {
      case ros::MessageType::kPoseStamped:
        if (info.topic == ros::Topic::kNdtPose) {
          Keep(info.topic, &Record::ndt_poses);
        } else if (info.topic == ros::Topic::kIncumbentToResultRelativePose) {
          Keep(info.topic, &Record::differences);
        } else {
          Count<PoseStamped>(info.name);
        }
        break;
      case ros::MessageType::kPoseWithCovarianceStamped:
        if (info.topic == ros::Topic::kNdtPoseWithCovariance) {
          Keep(info.topic, &Record::covariances);
        } else {
          Count<PoseWithCovarianceStamped>(info.name);
        }
        break;
      case ros::MessageType::kTwistWithCovarianceStamped:
        Count<TwistWithCovarianceStamped>(info.name);
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
  if (shadow) {
    incumbent_poses_ =
        node_->create_publisher<PoseWithCovarianceStamped>(ros::kIncumbentPoseTopic, 10);
  }
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
  subscriptions_.push_back(node_->create_subscription<Message>(
      ros::OfferedName(topic, shadow_), 100, [this, topic](const Message& /*message*/) {
        Change([&](Record& record) { record.messages[topic] += 1; });
      }));
}

template <typename Message>
void Vehicle::Keep(ros::Topic topic, std::vector<Message> Record::*messages) {
  subscriptions_.push_back(node_->create_subscription<Message>(
      ros::OfferedName(ros::InfoOf(topic).name, shadow_), 100,
      [this, messages](const Message& message) {
        Change([&](Record& record) { (record.*messages).push_back(message); });
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
                                                                        double timeout_s,
                                                                        const std::string& name) {
  std::optional<diagnostic_msgs::msg::DiagnosticStatus> found;
  const bool came = WaitFor(
      [&](const Record& record) {
        const auto statuses = record.diagnostics.find(name);
        if (statuses == record.diagnostics.end()) return false;
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

void Vehicle::PublishIncumbentPose(int64_t stamp_ns, const Pose& map_T_base) {
  ros::PoseWithCovarianceStamped pose;
  pose.header = {stamp_ns, "map"};
  pose.pose = map_T_base;
  incumbent_poses_->publish(ToRos(pose));
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
  if (!client->wait_for_service(kServiceTimeout)) return nullptr;
  auto future = client->async_send_request(request).future.share();
  if (future.wait_for(kServiceTimeout) != std::future_status::ready) return nullptr;
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

std::vector<Eigen::Vector3d> RoomPoints(const Eigen::Vector3d& corner_map) {
  const Eigen::Vector3d x = Eigen::Vector3d::UnitX();
  const Eigen::Vector3d y = Eigen::Vector3d::UnitY();
  const Eigen::Vector3d z = Eigen::Vector3d::UnitZ();
  std::mt19937 random(7);
  std::vector<Eigen::Vector3d> points;
  const auto wall = [&](const Eigen::Vector3d& corner, const Eigen::Vector3d& u, double u_length,
                        const Eigen::Vector3d& v, double v_length) {
    AddRectangle(corner_map + corner, u, u_length, v, v_length, random, points);
  };
  wall({0, 0, 0}, x, kLength, y, kWidth);        // floor
  wall({0, 0, 0}, x, kLength, z, kHeight);       // south
  wall({0, kWidth, 0}, x, kLength, z, kHeight);  // north
  wall({0, 0, 0}, y, kWidth, z, kHeight);        // west
  wall({kLength, 0, 0}, y, kWidth, z, kHeight);  // east
  // Pillars of 1.5 m, at places that repeat nowhere.
  for (const Eigen::Vector2d& at : {Eigen::Vector2d(6, 5), Eigen::Vector2d(13, 18),
                                    Eigen::Vector2d(21, 6), Eigen::Vector2d(31, 17)}) {
    const Eigen::Vector3d corner(at.x(), at.y(), 0);
    wall(corner, x, 1.5, z, kHeight);
    wall(corner, y, 1.5, z, kHeight);
    wall(corner + 1.5 * y, x, 1.5, z, kHeight);
    wall(corner + 1.5 * x, y, 1.5, z, kHeight);
  }
  return points;
}

PointCloud ToCloud(const std::vector<Eigen::Vector3d>& points_map) {
  PointCloud cloud;
  cloud.Reserve(points_map.size());
  for (const Eigen::Vector3d& point : points_map) {
    const Eigen::Vector3f offset = point.cast<float>();
    cloud.PushBack(offset.x(), offset.y(), offset.z());
  }
  return cloud;
}

sensor_msgs::msg::PointCloud2 ScanFrom(const std::vector<Eigen::Vector3d>& points_map,
                                       const Pose& map_T_sensor, size_t stride, int64_t stamp_ns,
                                       const std::string& frame_id) {
  auto message = Message<4>({"x", "y", "z", "intensity"});
  message.header.stamp = ToTime(stamp_ns);
  message.header.frame_id = frame_id;
  const Pose sensor_T_map = map_T_sensor.Inverse();
  for (size_t i = 0; i < points_map.size(); i += stride) {
    const Eigen::Vector3f point = (sensor_T_map * points_map[i]).cast<float>();
    Append<4>({point.x(), point.y(), point.z(), 1.0F}, message);
  }
  return message;
}

sensor_msgs::msg::PointCloud2 MapMessage(const std::vector<Eigen::Vector3d>& points_map) {
  auto message = Message<3>({"x", "y", "z"});
  message.header.frame_id = "map";
  for (const Eigen::Vector3d& map_point : points_map) {
    const Eigen::Vector3f point = map_point.cast<float>();
    Append<3>({point.x(), point.y(), point.z()}, message);
  }
  return message;
}

}  // namespace voxloc::ros2
