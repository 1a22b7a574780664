// SPDX-License-Identifier: Apache-2.0
//
// The node between a vehicle and a real voxlocd.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(VOXLOC_ROS_LOGGING_DEMO)
#include <rcutils/logging.h>

#include <logging_demo/srv/config_logger.hpp>
#endif

#include <algorithm>
#include <autoware_map_msgs/srv/get_differential_point_cloud_map.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"
#include "clients/ros/ros2/node/ndt_scan_matcher.h"
#include "clients/ros/ros2/test/node_fixture.h"
#include "clients/ros/ros2/test/server_process.h"
#include "clients/ros/ros2/test/vehicle.h"

namespace voxloc::ros2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

geometry_msgs::msg::PoseWithCovarianceStamped Prior(const Pose& map_T_base,
                                                    const std::string& frame_id = "map") {
  ros::PoseWithCovarianceStamped prior;
  prior.header.frame_id = frame_id;
  prior.pose = map_T_base;
  prior.covariance.diagonal() << 0.25, 0.25, 0.0025, 0.000685, 0.000685, 0.0685;
  return ToRos(prior);
}

template <typename Message>
std::vector<Message> Since(int64_t stamp_ns, std::vector<Message> messages) {
  messages.erase(std::remove_if(messages.begin(), messages.end(),
                                [&](const Message& message) {
                                  return StampNs(message.header.stamp) < stamp_ns;
                                }),
                 messages.end());
  return messages;
}

TEST_F(NodeTest, ADriveHasAPoseATransformAndAStatusForEveryScan) {
  Start();
  ASSERT_TRUE(vehicle_->Trigger(true));
  (void)SendUntilAligned(BaseOfScan(0));  // its pose can come after its status

  constexpr int kScans = 20;
  std::vector<int64_t> stamps;
  for (int i = 1; i <= kScans; ++i) {
    stamps.push_back(Send(BaseOfScan(i), NextStampNs()));
    const auto status = vehicle_->StatusOf(stamps.back());
    ASSERT_TRUE(status.has_value()) << "scan " << i;
    std::vector<std::string> keys;
    for (const auto& value : status->values) keys.push_back(value.key);
    EXPECT_THAT(
        std::vector<std::string>(keys.begin(), keys.begin() + std::min<size_t>(19, keys.size())),
        ElementsAre("topic_time_stamp", "sensor_points_size", "sensor_points_delay_time_sec",
                    "is_succeed_transform_sensor_points", "sensor_points_max_distance",
                    "is_activated", "is_succeed_interpolate_initial_pose", "is_set_map_points",
                    "iteration_num", "local_optimal_solution_oscillation_num",
                    "transform_probability", "nearest_voxel_transformation_likelihood",
                    "transform_probability_diff", "transform_probability_before",
                    "nearest_voxel_transformation_likelihood_diff",
                    "nearest_voxel_transformation_likelihood_before", "distance_initial_to_result",
                    "execution_time", "skipping_publish_num"));
    EXPECT_EQ(status->hardware_id, "ndt_scan_matcher");
    EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::OK) << status->message;
    EXPECT_EQ(Value(*status, "skipping_publish_num"), "0");
  }
  ASSERT_TRUE(vehicle_->WaitFor([&](const Vehicle::Record& record) {
    return Since(stamps.front(), record.ndt_poses).size() >= kScans &&
           Since(stamps.front(), record.covariances).size() >= kScans &&
           Since(stamps.front(), record.transforms).size() >= kScans;
  }));

  const Vehicle::Record record = vehicle_->record();
  const auto poses = Since(stamps.front(), record.ndt_poses);
  const auto transforms = Since(stamps.front(), record.transforms);
  const auto covariances = Since(stamps.front(), record.covariances);
  ASSERT_EQ(poses.size(), size_t{kScans});
  for (size_t i = 0; i < kScans; ++i) {
    const auto& pose = poses[i];
    EXPECT_EQ(StampNs(pose.header.stamp), stamps[i]);
    EXPECT_EQ(pose.header.frame_id, "map");
    ExpectNear(FromRos(pose.pose), BaseOfScan(static_cast<int>(i) + 1));

    const auto& transform = transforms[i];
    EXPECT_EQ(transform.header, pose.header);
    EXPECT_EQ(transform.child_frame_id, "ndt_base_link");
    EXPECT_EQ(FromRos(transform.transform).translation, FromRos(pose.pose).translation);
    EXPECT_EQ(FromRos(transform.transform).rotation.coeffs(), FromRos(pose.pose).rotation.coeffs());

    const auto& covariance = covariances[i];
    EXPECT_EQ(covariance.header, pose.header);
    EXPECT_EQ(covariance.pose.pose, pose.pose);
    EXPECT_NEAR(covariance.pose.covariance[0], 0.0225, 1e-9);
  }
  for (const char* topic :
       {"initial_pose_with_covariance", "exe_time_ms", "transform_probability",
        "nearest_voxel_transformation_likelihood", "iteration_num", "ndt_marker",
        "initial_to_result_relative_pose", "initial_to_result_distance",
        "initial_to_result_distance_old", "initial_to_result_distance_new", "points_aligned"}) {
    EXPECT_TRUE(vehicle_->WaitFor([&](const Vehicle::Record& now) {
      const auto count = now.messages.find(topic);
      return count != now.messages.end() && count->second >= kScans;
    })) << topic;
  }
  for (const char* group :
       {"initial_pose_subscriber_status", "map_update_status", "trigger_node_service_status"}) {
    EXPECT_TRUE(vehicle_->WaitFor([&](const Vehicle::Record& now) {
      return now.diagnostics.count(group) > 0;
    })) << group;
  }
}

TEST_F(NodeTest, WorksWithMessagesWithinTheProcess) {
  Start({}, /*intra_process=*/true);
  ASSERT_TRUE(vehicle_->Trigger(true));
  const int64_t stamp_ns = SendUntilAligned(BaseOfScan(3));
  ASSERT_TRUE(vehicle_->WaitFor([&](const Vehicle::Record& record) {
    return !record.ndt_poses.empty() && StampNs(record.ndt_poses.back().header.stamp) == stamp_ns;
  }));
  ExpectNear(FromRos(vehicle_->record().ndt_poses.back().pose), BaseOfScan(3));
}

TEST_F(NodeTest, TakesItsTimeFromTheClockTopic) {
  Start({"use_sim_time:=true"});
  ASSERT_TRUE(vehicle_->Trigger(true));
  constexpr int64_t kStartNs = 1'000'000'000'000;
  std::optional<diagnostic_msgs::msg::DiagnosticStatus> status;
  for (int i = 0; i < 100 && (!status || Value(*status, "iteration_num").empty()); ++i) {
    const int64_t now_ns = kStartNs + i * kScanPeriodNs;
    vehicle_->PublishClock(now_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    status = vehicle_->StatusOf(Send(BaseOfScan(3), now_ns), kMatchingTimeoutS);
  }
  ASSERT_TRUE(status.has_value());
  EXPECT_LT(std::abs(std::stod(Value(*status, "sensor_points_delay_time_sec"))), 1.0);
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::OK) << status->message;
}

TEST_F(NodeTest, SaysWhyAScanIsNotAligned) {
  Start();
  // Inactive.
  int64_t stamp_ns = 0;
  std::optional<diagnostic_msgs::msg::DiagnosticStatus> status;
  // Until the topics have found each other, and /tf_static has come.
  for (int i = 0; i < 100 && (!status || Value(*status, "is_activated").empty()); ++i) {
    stamp_ns = Send(BaseOfScan(0), NextStampNs());
    status = vehicle_->StatusOf(stamp_ns, kMatchingTimeoutS);
  }
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::WARN);
  EXPECT_EQ(Value(*status, "is_activated"), "False");

  // A frame that nobody publishes.
  ASSERT_TRUE(vehicle_->Trigger(true));
  stamp_ns = NextStampNs();
  vehicle_->PublishScan(ScanFrom(*room_, BaseOfScan(0), kStride, stamp_ns, "nowhere"));
  status = vehicle_->StatusOf(stamp_ns);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::ERROR);
  EXPECT_EQ(Value(*status, "is_succeed_transform_sensor_points"), "False");
  EXPECT_THAT(status->message, HasSubstr("nowhere"));

  // No poses around the stamp.
  stamp_ns = NextStampNs();
  vehicle_->PublishScan(
      ScanFrom(*room_, BaseOfScan(0) * base_T_sensor_, kStride, stamp_ns, Vehicle::kSensorFrame));
  status = vehicle_->StatusOf(stamp_ns);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::WARN);
  EXPECT_EQ(Value(*status, "is_succeed_interpolate_initial_pose"), "False");
  EXPECT_TRUE(vehicle_->record().ndt_poses.empty());
}

// Autoware's sequence: start, a scan, then the search around a pose that a person or GNSS gave.
TEST_F(NodeTest, TheAlignServiceFindsTheVehicleAroundAPrior) {
  Start({"initial_pose_estimation.particles_num:=100",
         "initial_pose_estimation.n_startup_trials:=100"});
  ASSERT_TRUE(vehicle_->Trigger(true));
  (void)SendUntilAligned(BaseOfScan(5));

  const Pose off = BaseAt(10.9, 10.7, 0.1 + 0.2);
  const auto response = vehicle_->Align(Prior(off));
  ASSERT_NE(response, nullptr);
  EXPECT_TRUE(response->success);
#if !defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
  EXPECT_TRUE(response->reliable);
#endif
  EXPECT_EQ(response->pose_with_covariance.header.frame_id, "map");
  ExpectNear(FromRos(response->pose_with_covariance.pose.pose), BaseOfScan(5));
  EXPECT_EQ(response->pose_with_covariance.pose.covariance, Prior(off).pose.covariance);
  EXPECT_TRUE(vehicle_->WaitFor([](const Vehicle::Record& record) {
    return record.diagnostics.count("ndt_align_service_status") > 0 &&
           record.messages.count("monte_carlo_initial_pose_marker") > 0;
  }));
}

TEST_F(NodeTest, APriorOutsideTheMapDoesNoHarmToTheNextSearch) {
  Start({"initial_pose_estimation.particles_num:=100"});
  ASSERT_TRUE(vehicle_->Trigger(true));
  (void)SendUntilAligned(BaseOfScan(5));
  Pose outside = BaseOfScan(5);
  outside.translation -= Eigen::Vector3d(1000.0, 1000.0, 0.0);

  const auto refused = vehicle_->Align(Prior(outside));
  ASSERT_NE(refused, nullptr);
#if !defined(VOXLOC_ROS_TIER4_LOCALIZATION_MSGS)
  EXPECT_FALSE(refused->reliable);
#endif
  const auto found = vehicle_->Align(Prior(BaseOfScan(5)));
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->success);
  ExpectNear(FromRos(found->pose_with_covariance.pose.pose), BaseOfScan(5));
}

TEST_F(NodeTest, AFewParticlesAreEnoughNearTheTruth) {
  // As in Autoware's own test: fewer than are drawn at random by default.
  Start({"initial_pose_estimation.particles_num:=10"});
  ASSERT_TRUE(vehicle_->Trigger(true));
  (void)SendUntilAligned(BaseOfScan(5));
  const auto response = vehicle_->Align(Prior(BaseOfScan(5)));
  ASSERT_NE(response, nullptr);
  EXPECT_TRUE(response->success);
}

TEST_F(NodeTest, TheAlignServiceRefusesAFrameWithoutTransformAndAPriorWithoutScan) {
  Start();
  ASSERT_TRUE(vehicle_->Trigger(true));
  const auto without_scan = vehicle_->Align(Prior(BaseOfScan(5)));
  ASSERT_NE(without_scan, nullptr);
  EXPECT_FALSE(without_scan->success);
  (void)SendUntilAligned(BaseOfScan(5));
  const auto without_transform = vehicle_->Align(Prior(BaseOfScan(5), "gnss_link"));
  ASSERT_NE(without_transform, nullptr);
  EXPECT_FALSE(without_transform->success);
}

TEST_F(NodeTest, NavigationsRecoveryIsAnsweredAtOnce) {
  Start();
  EXPECT_TRUE(vehicle_->Reinitialize());
}

#if defined(VOXLOC_ROS_LOGGING_DEMO)
TEST_F(NodeTest, AutowaresServiceForLoggersSetsTheirLevels) {
  using logging_demo::srv::ConfigLogger;
  Start();
  auto caller = std::make_shared<rclcpp::Node>("rviz_plugin");
  const auto client = caller->create_client<ConfigLogger>("ndt_scan_matcher/config_logger");
  ASSERT_TRUE(client->wait_for_service(std::chrono::seconds(20)));
  executor_->add_node(caller);
  const auto call = [&client](const std::string& level) {
    const auto request = std::make_shared<ConfigLogger::Request>();
    request->logger_name = "ndt_scan_matcher";
    request->level = level;
    auto answer = client->async_send_request(request);
    const bool came = answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    return came && answer.get()->success;
  };
  EXPECT_TRUE(call("ERROR"));
  EXPECT_EQ(rcutils_logging_get_logger_level("ndt_scan_matcher"), RCUTILS_LOG_SEVERITY_ERROR);
  EXPECT_FALSE(call("LOUD"));
  EXPECT_EQ(rcutils_logging_get_logger_level("ndt_scan_matcher"), RCUTILS_LOG_SEVERITY_ERROR);
  EXPECT_TRUE(call("INFO"));
  EXPECT_EQ(rcutils_logging_get_logger_level("ndt_scan_matcher"), RCUTILS_LOG_SEVERITY_INFO);
  executor_->remove_node(caller);
}
#endif

TEST_F(NodeTest, FeedsTheServerFromTheMapLoader) {
  using Loader = autoware_map_msgs::srv::GetDifferentialPointCloudMap;
  Start({"voxloc.map_feeder.enable:=true", "voxloc.map:=fed", "voxloc.map_feeder.map:=fed"});
  auto loader = std::make_shared<rclcpp::Node>("pointcloud_map_loader");
  const auto service = loader->create_service<Loader>(
      ros::kMapLoaderClient, [](const std::shared_ptr<Loader::Request>& request,
                                const std::shared_ptr<Loader::Response>& response) {
        response->header.frame_id = "map";
        if (request->cached_ids.empty()) {
          auto& tile = response->new_pointcloud_with_ids.emplace_back();
          tile.cell_id = "room";
          tile.pointcloud = MapMessage(*room_);
          tile.metadata.min_x = static_cast<float>(kCorner.x());
          tile.metadata.min_y = static_cast<float>(kCorner.y());
          tile.metadata.max_x = static_cast<float>(kCorner.x()) + 40.0F;
          tile.metadata.max_y = static_cast<float>(kCorner.y()) + 24.0F;
        }
      });
  executor_->add_node(loader);
  ASSERT_TRUE(vehicle_->Trigger(true));
  const int64_t stamp_ns = SendUntilAligned(BaseOfScan(2));
  const auto status = vehicle_->StatusOf(stamp_ns);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::OK) << status->message;
  executor_->remove_node(loader);
}

TEST_F(NodeTest, WaitsForAServerThatComesLater) {
  auto late = ServerProcess::Start();
  const std::string address = late->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  late.reset();  // the port is free again, and nobody answers there

  Start({}, /*intra_process=*/false, address);
  ASSERT_TRUE(vehicle_->Trigger(true));
  const auto status = vehicle_->StatusOf(Send(BaseOfScan(1), NextStampNs()), kMatchingTimeoutS);
  if (status) {  // the first scan can come before the topics have found each other
    EXPECT_NE(status->level, diagnostic_msgs::msg::DiagnosticStatus::OK);
  }
  EXPECT_TRUE(vehicle_->record().ndt_poses.empty());

  late = ServerProcess::Start(port);
  LoadRoom(*late);
  (void)SendUntilAligned(BaseOfScan(1));
}

}  // namespace
}  // namespace voxloc::ros2
