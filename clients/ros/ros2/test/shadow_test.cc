// SPDX-License-Identifier: Apache-2.0
//
// The node in shadow mode, beside a localizer that the test stands for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"
#include "clients/ros/ros2/test/node_fixture.h"

namespace voxloc::ros2 {
namespace {

using ShadowNodeTest = NodeTest;

// Of the incumbent in the base frame of voxloc's pose: 3 cm behind it, 1 cm to its right, and
// turned by 0.1 degrees.
const Pose kResult_T_incumbent{
    {-0.03, -0.01, 0.0},
    Eigen::Quaterniond(Eigen::AngleAxisd(M_PI / 1800.0, Eigen::Vector3d::UnitZ()))};

TEST_F(ShadowNodeTest, ComparesItselfWithTheIncumbentAndBroadcastsNothing) {
  StartShadow();
  (void)SendUntilAligned(BaseOfScan(0));  // nobody has triggered the node
  const int64_t stamp_ns = Send(BaseOfScan(1), NextStampNs());
  ASSERT_TRUE(vehicle_->WaitFor([&](const Vehicle::Record& record) {
    return !record.ndt_poses.empty() && StampNs(record.ndt_poses.back().header.stamp) == stamp_ns;
  }));
  const Pose result = FromRos(vehicle_->record().ndt_poses.back().pose);
  ExpectNear(result, BaseOfScan(1));
  vehicle_->PublishIncumbentPose(stamp_ns, result * kResult_T_incumbent);

  const auto status = vehicle_->StatusOf(stamp_ns, 20.0, "shadow_status");
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->name, "voxloc_shadow: shadow_status");
  EXPECT_EQ(status->level, diagnostic_msgs::msg::DiagnosticStatus::WARN);
  EXPECT_EQ(Value(*status, "compared"), "1");
  EXPECT_NEAR(std::stod(Value(*status, "difference_position")), std::hypot(0.03, 0.01), 2e-6);
  EXPECT_NEAR(std::stod(Value(*status, "difference_rotation")), 0.1, 2e-6);

  ASSERT_TRUE(
      vehicle_->WaitFor([](const Vehicle::Record& record) { return !record.differences.empty(); }));
  const auto difference = vehicle_->record().differences.front();
  EXPECT_EQ(StampNs(difference.header.stamp), stamp_ns);
  EXPECT_EQ(difference.header.frame_id, "base_link");
  const Eigen::Matrix4d expected = kResult_T_incumbent.Matrix().inverse();
  EXPECT_TRUE(FromRos(difference.pose).Matrix().isApprox(expected, 1e-9));
  EXPECT_TRUE(vehicle_->record().transforms.empty());
}

TEST_F(ShadowNodeTest, OffersNothingUnderTheNamesOfTheIncumbent) {
  StartShadow();
  ASSERT_TRUE(vehicle_->Trigger(false));  // found under shadow/
  const auto& graph = *node_->get_node_graph_interface();
  const auto published = graph.get_publisher_names_and_types_by_node("voxloc_shadow", "/");
  for (const auto& topic : published) {
    // Every node has the last two.
    EXPECT_TRUE(absl::StartsWith(topic.first, "/shadow/") || topic.first == "/diagnostics" ||
                topic.first == "/rosout" || topic.first == "/parameter_events")
        << topic.first;
  }
  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    EXPECT_EQ(published.count("/shadow/" + std::string(info.name)), 1U) << info.name;
  }
  std::vector<std::string> services;
  for (const auto& service : graph.get_service_names_and_types_by_node("voxloc_shadow", "/")) {
    if (!absl::StartsWith(service.first, "/voxloc_shadow/")) services.push_back(service.first);
  }
  EXPECT_THAT(services,
              testing::UnorderedElementsAre("/shadow/ndt_align_srv", "/shadow/trigger_node_srv",
                                            "/shadow/reinitialize_global_localization"));
}

}  // namespace
}  // namespace voxloc::ros2
