// SPDX-License-Identifier: Apache-2.0
//
// Vehicle: the environment of the node in tests: a LiDAR, an EKF, clients of the services, and a
// recorder of everything that the node publishes. Thread-safe.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_TEST_VEHICLE_H_
#define VOXLOC_CLIENTS_ROS_ROS2_TEST_VEHICLE_H_

#include <Eigen/Core>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <functional>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/pose_with_covariance_stamped.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <rosgraph_msgs/msg/clock.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <std_srvs/srv/empty.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <string>
#include <tf2_msgs/msg/tf_message.hpp>
#include <vector>

#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/ros_versions.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::ros2 {

class Vehicle {
 public:
  // What the node has published, by topic without the namespace, also without "shadow/".
  struct Record {
    std::map<std::string, int> messages;
    std::vector<geometry_msgs::msg::PoseStamped> ndt_poses;
    std::vector<geometry_msgs::msg::PoseWithCovarianceStamped> covariances;
    std::vector<geometry_msgs::msg::PoseStamped> differences;  // from the incumbent
    std::vector<geometry_msgs::msg::TransformStamped> transforms;
    std::map<std::string, std::vector<diagnostic_msgs::msg::DiagnosticArray>> diagnostics;
  };

  static constexpr char kSensorFrame[] = "velodyne_top";

  // The sensor is mounted on base_link as said. `name` is the node's, and `shadow` its
  // voxloc.shadow.
  Vehicle(const std::string& name, const Pose& base_T_sensor, bool shadow);

  [[nodiscard]] const rclcpp::Node::SharedPtr& node() const { return node_; }

  void PublishScan(sensor_msgs::msg::PointCloud2 scan);
  void PublishPose(int64_t stamp_ns, const Pose& map_T_base, const std::string& frame_id = "map");
  // A pose of the localizer in use, with the node in shadow mode.
  void PublishIncumbentPose(int64_t stamp_ns, const Pose& map_T_base);
  void PublishClock(int64_t now_ns);
  [[nodiscard]] int64_t NowNs() const { return node_->now().nanoseconds(); }

  // The services; false or null where there is no answer within half a minute.
  [[nodiscard]] bool Trigger(bool activate);
  [[nodiscard]] AlignServiceType::Response::SharedPtr Align(
      const geometry_msgs::msg::PoseWithCovarianceStamped& pose);
  [[nodiscard]] bool Reinitialize();

  [[nodiscard]] Record record() const;
  // Whether it became true of the record.
  [[nodiscard]] bool WaitFor(const std::function<bool(const Record&)>& condition,
                             double timeout_s = 20.0);
  // The status of this name of the scan with this stamp, where it comes in time.
  [[nodiscard]] std::optional<diagnostic_msgs::msg::DiagnosticStatus> StatusOf(
      int64_t stamp_ns, double timeout_s = 20.0, const std::string& name = "scan_matching_status");

 private:
  // Also with `shadow`, `topic` is as ros::TopicInfo has it.
  template <typename Message>
  void Count(const std::string& topic);
  template <typename Message>
  void Keep(ros::Topic topic, std::vector<Message> Record::*messages);
  template <typename Service>
  typename Service::Response::SharedPtr Call(
      const typename rclcpp::Client<Service>::SharedPtr& client,
      const typename Service::Request::SharedPtr& request);
  void Change(const std::function<void(Record&)>& change);

  std::string name_;
  bool shadow_;
  rclcpp::Node::SharedPtr node_;
  tf2_ros::StaticTransformBroadcaster static_transforms_;
  rclcpp::Publisher<sensor_msgs::msg::PointCloud2>::SharedPtr points_;
  rclcpp::Publisher<geometry_msgs::msg::PoseWithCovarianceStamped>::SharedPtr poses_;
  rclcpp::Publisher<geometry_msgs::msg::PoseWithCovarianceStamped>::SharedPtr incumbent_poses_;
  rclcpp::Publisher<rosgraph_msgs::msg::Clock>::SharedPtr clock_;
  rclcpp::Client<std_srvs::srv::SetBool>::SharedPtr trigger_;
  rclcpp::Client<AlignServiceType>::SharedPtr align_;
  rclcpp::Client<std_srvs::srv::Empty>::SharedPtr reinitialize_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Record record_;
};

// A hall with pillars, as a map and as scans from any pose in it.

// 40 m by 24 m by 6 m, one corner at `corner_map`, a point each 0.2 m, scattered by 2 cm.
[[nodiscard]] std::vector<Eigen::Vector3d> RoomPoints(const Eigen::Vector3d& corner_map);

[[nodiscard]] PointCloud ToCloud(const std::vector<Eigen::Vector3d>& points_map);

// Every `stride`th point as a sensor at the pose sees it: x, y, z and an intensity, float32.
[[nodiscard]] sensor_msgs::msg::PointCloud2 ScanFrom(const std::vector<Eigen::Vector3d>& points_map,
                                                     const Pose& map_T_sensor, size_t stride,
                                                     int64_t stamp_ns, const std::string& frame_id);

// The points as a message in the map's frame, x, y and z.
[[nodiscard]] sensor_msgs::msg::PointCloud2 MapMessage(
    const std::vector<Eigen::Vector3d>& points_map);

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_TEST_VEHICLE_H_
