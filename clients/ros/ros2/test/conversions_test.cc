// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/conversions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace voxloc::ros2 {
namespace {

TEST(Stamps, AreTheSameNanosecondsBothWays) {
  for (const int64_t stamp_ns : {int64_t{0}, int64_t{1}, int64_t{1'700'000'000'123'456'789},
                                 int64_t{-1}, int64_t{-1'500'000'000}}) {
    EXPECT_EQ(StampNs(ToTime(stamp_ns)), stamp_ns);
  }
  const builtin_interfaces::msg::Time before_epoch = ToTime(-1);
  EXPECT_EQ(before_epoch.sec, -1);
  EXPECT_EQ(before_epoch.nanosec, 999'999'999U);
}

TEST(Stamps, BeyondWhatAMessageCanSayAreItsLimits) {
  EXPECT_EQ(ToTime(std::numeric_limits<int64_t>::max()).sec, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(ToTime(std::numeric_limits<int64_t>::min()).sec, std::numeric_limits<int32_t>::min());
}

TEST(Twists, OfBothTypesAreTheSame) {
  geometry_msgs::msg::TwistStamped plain;
  plain.header.stamp = ToTime(42);
  plain.header.frame_id = "base_link";
  plain.twist.linear.x = 7.0;
  plain.twist.linear.y = -0.25;
  plain.twist.angular.z = 0.5;
  geometry_msgs::msg::TwistWithCovarianceStamped with_covariance;
  with_covariance.header = plain.header;
  with_covariance.twist.twist = plain.twist;
  with_covariance.twist.covariance[0] = 0.04;
  for (const ros::TwistStamped& twist : {FromRos(plain), FromRos(with_covariance)}) {
    EXPECT_EQ(twist.header.stamp_ns, 42);
    EXPECT_EQ(twist.header.frame_id, "base_link");
    EXPECT_EQ(twist.twist.linear_m_s, Eigen::Vector3d(7.0, -0.25, 0.0));
    EXPECT_EQ(twist.twist.angular_rad_s, Eigen::Vector3d(0.0, 0.0, 0.5));
  }
  ros::TwistWithCovarianceStamped published = {{42, "base_link"}, FromRos(plain).twist};
  published.covariance(0, 5) = 0.04;
  const geometry_msgs::msg::TwistWithCovarianceStamped message = ToRos(published);
  EXPECT_EQ(message.header, plain.header);
  EXPECT_EQ(message.twist.twist, plain.twist);
  EXPECT_EQ(message.twist.covariance[5], 0.04) << "row-major";
}

TEST(CloudView, PointsIntoTheMessage) {
  sensor_msgs::msg::PointCloud2 message;
  message.header.frame_id = "velodyne";
  message.header.stamp = ToTime(42);
  message.height = 2;
  message.width = 3;
  message.point_step = 16;
  message.row_step = 64;
  message.is_bigendian = true;
  message.data.resize(128);
  message.fields.resize(2);
  message.fields[1].name = "time";
  message.fields[1].offset = 12;
  message.fields[1].datatype = sensor_msgs::msg::PointField::FLOAT32;
  message.fields[1].count = 1;

  const CloudView cloud(message);
  const ros::PointCloud2View& view = cloud.view();
  EXPECT_EQ(view.data.data(), message.data.data());
  EXPECT_EQ(view.data.size(), 128U);
  EXPECT_EQ(view.header.frame_id, "velodyne");
  EXPECT_EQ(view.header.stamp_ns, 42);
  EXPECT_EQ(view.height, 2U);
  EXPECT_EQ(view.width, 3U);
  EXPECT_EQ(view.point_step, 16U);
  EXPECT_EQ(view.row_step, 64U);
  EXPECT_TRUE(view.is_bigendian);
  ASSERT_EQ(view.fields.size(), 2U);
  EXPECT_EQ(view.fields[1].name, "time");
  EXPECT_EQ(view.fields[1].offset, 12U);
  EXPECT_EQ(view.fields[1].datatype, ros::PointField::kFloat32);
}

TEST(CloudView, KeepsItsFieldsWhenMoved) {
  sensor_msgs::msg::PointCloud2 message;
  message.fields.resize(1);
  message.fields[0].name = "x";
  std::vector<CloudView> views;
  for (int i = 0; i < 20; ++i) views.emplace_back(message);
  for (const CloudView& cloud : views) {
    ASSERT_EQ(cloud.view().fields.size(), 1U);
    EXPECT_EQ(cloud.view().fields[0].name, "x");
  }
}

TEST(PointCloud, GoesOutWithoutACopyOfItsPoints) {
  ros::PointCloud2 cloud;
  cloud.header = {7, "map"};
  cloud.width = 2;
  cloud.point_step = 12;
  cloud.data.resize(24);
  cloud.fields = {{"x", 0, ros::PointField::kFloat32, 1}};
  const uint8_t* const data = cloud.data.data();

  const auto message = ToRos(std::move(cloud));
  EXPECT_EQ(message->data.data(), data);
  EXPECT_EQ(message->height, 1U);
  EXPECT_EQ(message->width, 2U);
  EXPECT_EQ(message->row_step, 24U);
  EXPECT_EQ(message->header.frame_id, "map");
  ASSERT_EQ(message->fields.size(), 1U);
  EXPECT_EQ(message->fields[0].name, "x");
  EXPECT_FALSE(message->is_bigendian);
}

TEST(Poses, KeepEveryNumberOfTheMessage) {
  geometry_msgs::msg::PoseWithCovarianceStamped message;
  message.header.frame_id = "map";
  message.header.stamp = ToTime(5);
  message.pose.pose.position.x = 1;
  message.pose.pose.position.y = 2;
  message.pose.pose.position.z = 3;
  message.pose.pose.orientation.x = 0.1;
  message.pose.pose.orientation.y = 0.2;
  message.pose.pose.orientation.z = 0.3;
  message.pose.pose.orientation.w = 0.4;  // not of unit length: the bridge judges that
  for (size_t i = 0; i < message.pose.covariance.size(); ++i) {
    message.pose.covariance[i] = static_cast<double>(i);
  }
  const ros::PoseWithCovarianceStamped pose = FromRos(message);
  EXPECT_EQ(pose.covariance(0, 5), 5.0);
  EXPECT_EQ(pose.covariance(5, 0), 30.0);
  EXPECT_EQ(pose.pose.rotation.w(), 0.4);
  EXPECT_EQ(ToRos(pose), message);
}

TEST(Transforms, AreOfTheChildInTheParent) {
  ros::TransformStamped transform;
  transform.header = {9, "map"};
  transform.child_frame_id = "ndt_base_link";
  transform.parent_T_child.translation = {1, 2, 3};
  const geometry_msgs::msg::TransformStamped message = ToRos(transform);
  EXPECT_EQ(message.header.frame_id, "map");
  EXPECT_EQ(message.child_frame_id, "ndt_base_link");
  EXPECT_EQ(message.transform.translation.z, 3);
  EXPECT_EQ(FromRos(message.transform).translation, transform.parent_T_child.translation);
}

TEST(Markers, AreArrowsToAdd) {
  ros::ArrowMarker arrow;
  arrow.header = {11, "map"};
  arrow.ns = "result_pose_matrix_array";
  arrow.id = 4;
  arrow.lifetime_s = 10.5;
  arrow.color = {0.25F, 0.5F, 0.75F, 1.0F};
  const visualization_msgs::msg::MarkerArray message = ToRos(std::vector{arrow});
  ASSERT_EQ(message.markers.size(), 1U);
  const visualization_msgs::msg::Marker& marker = message.markers[0];
  EXPECT_EQ(marker.type, visualization_msgs::msg::Marker::ARROW);
  EXPECT_EQ(marker.action, visualization_msgs::msg::Marker::ADD);
  EXPECT_EQ(marker.ns, arrow.ns);
  EXPECT_EQ(marker.id, 4);
  EXPECT_EQ(marker.scale.x, 0.3);
  EXPECT_EQ(marker.lifetime.sec, 10);
  EXPECT_EQ(marker.lifetime.nanosec, 500'000'000U);
  EXPECT_EQ(marker.color.b, 0.75F);
}

TEST(Diagnostics, KeepTheOrderOfTheirKeys) {
  ros::DiagnosticStatus status;
  status.level = ros::DiagnosticStatus::kError;
  status.name = "ndt_scan_matcher: scan_matching_status";
  status.hardware_id = "ndt_scan_matcher";
  status.values = {{"b", "1"}, {"a", "True"}};
  const diagnostic_msgs::msg::DiagnosticStatus message = ToRos(status);
  EXPECT_EQ(message.level, diagnostic_msgs::msg::DiagnosticStatus::ERROR);
  EXPECT_EQ(message.name, status.name);
  EXPECT_EQ(message.hardware_id, status.hardware_id);
  ASSERT_EQ(message.values.size(), 2U);
  EXPECT_EQ(message.values[0].key, "b");
  EXPECT_EQ(message.values[1].value, "True");
}

}  // namespace
}  // namespace voxloc::ros2
