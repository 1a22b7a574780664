// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/ros2/test/node_fixture.h"

#include <chrono>
#include <optional>

#include "clients/cpp/channel.h"
#include "clients/cpp/map_upload.h"
#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {

Pose BaseAt(double x_m, double y_m, double yaw_rad) {
  return {kCorner + Eigen::Vector3d(x_m, y_m, 0.0),
          Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

Pose BaseOfScan(int i) { return BaseAt(8.0 + 0.5 * i, 11.0 + 0.05 * i, 0.02 * i); }

std::unique_ptr<ServerProcess> NodeTest::server_;
std::unique_ptr<std::vector<Eigen::Vector3d>> NodeTest::room_;

void NodeTest::SetUpTestSuite() {
  server_ = ServerProcess::Start();
  if (server_) {
    room_ = std::make_unique<std::vector<Eigen::Vector3d>>(RoomPoints(kCorner));
    LoadRoom(*server_);
  }
}

void NodeTest::LoadRoom(const ServerProcess& server) {
  client::ChannelOptions channel;
  channel.server = server.address();
  client::UploadOptions options;
  options.transaction.begin.set_map("room");
  options.transaction.begin.set_create(true);
  const auto loaded =
      client::UploadTiles(client::Channel::Create(channel).value(),
                          {{"all", [] { return ToCloud(*room_); }, std::nullopt}}, options);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
}

void NodeTest::SetUp() {
  if (!server_) GTEST_SKIP() << "VOXLOC_BIN_DIR names no folder with voxlocd";
  rclcpp::init(0, nullptr);
  base_T_sensor_.translation = {0.8, 0.0, 1.9};
  base_T_sensor_.rotation = Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitZ());
}

void NodeTest::TearDown() {
  if (!server_) return;
  if (executor_) {
    executor_->cancel();
    spinning_.join();
    executor_.reset();
  }
  node_.reset();
  vehicle_.reset();
  rclcpp::shutdown();
}

void NodeTest::Start(const std::vector<std::string>& parameters, bool intra_process,
                     const std::string& server) {
  Start("ndt_scan_matcher", /*shadow=*/false, parameters, intra_process, server);
}

void NodeTest::StartShadow() {
  Start("voxloc_shadow", /*shadow=*/true, {"voxloc.shadow:=true"}, /*intra_process=*/false,
        server_->address());
}

void NodeTest::Start(const std::string& name, bool shadow,
                     const std::vector<std::string>& parameters, bool intra_process,
                     const std::string& server) {
  std::vector<std::string> arguments = {"--ros-args",
                                        "-r",
                                        "__node:=" + name,
                                        "--params-file",
                                        VOXLOC_ROS_CONFIG_DIR "/ndt_scan_matcher.param.yaml",
                                        "-p",
                                        "voxloc.server:=\"" + server + "\"",
                                        "-p",
                                        "voxloc.map:=room"};
  for (const std::string& parameter : parameters) {
    arguments.insert(arguments.end(), {"-p", parameter});
  }
  vehicle_ = std::make_unique<Vehicle>(name, base_T_sensor_, shadow);
  node_ = std::make_shared<NdtScanMatcher>(
      rclcpp::NodeOptions().arguments(arguments).use_intra_process_comms(intra_process));
  executor_ = std::make_unique<rclcpp::executors::MultiThreadedExecutor>(rclcpp::ExecutorOptions(),
                                                                         kCallbackGroups);
  executor_->add_node(node_);
  executor_->add_node(vehicle_->node());
  spinning_ = std::thread([this] { executor_->spin(); });
}

int64_t NodeTest::NextStampNs() {
  const int64_t wait_ns = last_stamp_ns_ + kScanPeriodNs - vehicle_->NowNs();
  if (wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
  last_stamp_ns_ = vehicle_->NowNs();
  return last_stamp_ns_;
}

int64_t NodeTest::SendUntilAligned(const Pose& map_T_base) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    const int64_t stamp_ns = Send(map_T_base, NextStampNs());
    const auto status = vehicle_->StatusOf(stamp_ns, kMatchingTimeoutS);
    if (status && !Value(*status, "iteration_num").empty()) return stamp_ns;
  }
  ADD_FAILURE() << "no scan was aligned";
  return 0;
}

int64_t NodeTest::Send(const Pose& map_T_base, int64_t stamp_ns) {
  Pose off = map_T_base;
  off.translation += Eigen::Vector3d(0.25, -0.15, 0.05);
  vehicle_->PublishPose(stamp_ns - kScanPeriodNs / 2, off);
  const int64_t after_ns = stamp_ns + kScanPeriodNs / 2;
  vehicle_->PublishPose(after_ns, off);
  // Poses and scans have threads of their own in the node: a scan can overtake a pose.
  (void)vehicle_->WaitFor(
      [&](const Vehicle::Record& record) {
        const auto statuses = record.diagnostics.find("initial_pose_subscriber_status");
        return statuses != record.diagnostics.end() &&
               StampNs(statuses->second.back().header.stamp) == after_ns;
      },
      kMatchingTimeoutS);
  vehicle_->PublishScan(
      ScanFrom(*room_, map_T_base * base_T_sensor_, kStride, stamp_ns, Vehicle::kSensorFrame));
  return stamp_ns;
}

std::string NodeTest::Value(const diagnostic_msgs::msg::DiagnosticStatus& status,
                            const std::string& key) {
  for (const auto& value : status.values) {
    if (value.key == key) return value.value;
  }
  return "";
}

void NodeTest::ExpectNear(const Pose& pose, const Pose& truth) {
  EXPECT_LT(TranslationDistance(pose, truth), 0.05);
  EXPECT_LT(RotationDistance(pose, truth), 0.01);
}

}  // namespace voxloc::ros2
