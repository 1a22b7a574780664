// SPDX-License-Identifier: Apache-2.0
//
// NodeTest: the node in this process, between a vehicle and a real voxlocd with the map of a hall.

#ifndef VOXLOC_CLIENTS_ROS_ROS2_TEST_NODE_FIXTURE_H_
#define VOXLOC_CLIENTS_ROS_ROS2_TEST_NODE_FIXTURE_H_

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cstdint>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <string>
#include <thread>
#include <vector>

#include "clients/ros/ros2/node/ndt_scan_matcher.h"
#include "clients/ros/ros2/test/server_process.h"
#include "clients/ros/ros2/test/vehicle.h"
#include "core/geometry/pose.h"

namespace voxloc::ros2 {

// A corner of the hall, away from zero, as in Autoware's own test of its node.
inline const Eigen::Vector3d kCorner(100.0, 100.0, 0.0);
inline constexpr int64_t kScanPeriodNs = 100'000'000;
// Until publishers and subscribers have found each other, messages are lost.
inline constexpr double kMatchingTimeoutS = 2.0;
// Of the hall's points a scan has each of this number, about 1200, as Autoware's preprocessing
// leaves.
inline constexpr size_t kStride = 40;

// map_T_base, in the hall.
[[nodiscard]] Pose BaseAt(double x_m, double y_m, double yaw_rad);
// Where the vehicle is in the i-th scan: a bend through the hall.
[[nodiscard]] Pose BaseOfScan(int i);

class NodeTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite() { server_.reset(); }

  // The hall as the map "room".
  static void LoadRoom(const ServerProcess& server);

  void SetUp() override;
  void TearDown() override;

  // The node with Autoware's parameters and these, and the vehicle around it.
  void Start(const std::vector<std::string>& parameters = {}, bool intra_process = false,
             const std::string& server = server_->address());
  // The node in shadow mode.
  void StartShadow();

  // A stamp of now, a scan's period after the last one.
  int64_t NextStampNs();
  // A scan from there, after poses that are 0.3 m off and lie before and after it. Sent again with
  // a new stamp until the node, whose session may not be open yet, has aligned it; the stamp of the
  // last.
  int64_t SendUntilAligned(const Pose& map_T_base);
  int64_t Send(const Pose& map_T_base, int64_t stamp_ns);

  // Empty: there is no such key.
  static std::string Value(const diagnostic_msgs::msg::DiagnosticStatus& status,
                           const std::string& key);
  static void ExpectNear(const Pose& pose, const Pose& truth);

  static std::unique_ptr<ServerProcess> server_;
  static std::unique_ptr<std::vector<Eigen::Vector3d>> room_;

  Pose base_T_sensor_;
  int64_t last_stamp_ns_ = 0;
  std::shared_ptr<NdtScanMatcher> node_;
  std::unique_ptr<Vehicle> vehicle_;
  std::unique_ptr<rclcpp::executors::MultiThreadedExecutor> executor_;
  std::thread spinning_;

 private:
  void Start(const std::string& name, bool shadow, const std::vector<std::string>& parameters,
             bool intra_process, const std::string& server);
};

}  // namespace voxloc::ros2

#endif  // VOXLOC_CLIENTS_ROS_ROS2_TEST_NODE_FIXTURE_H_
