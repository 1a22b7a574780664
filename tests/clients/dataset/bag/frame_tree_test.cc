// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/frame_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/dataset/bag/pose_track.h"

namespace voxloc::bag {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PoseMessage Transform(const std::string& parent, const std::string& child, double x,
                      double yaw = 0.0) {
  PoseMessage message;
  message.parent = parent;
  message.child = child;
  message.translation.x() = x;
  message.rotation = Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ());
  return message;
}

TEST(FrameTree, ComposesOverParentsAndChildren) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("base", "rack", 1.0, M_PI / 2)).ok());
  ASSERT_TRUE(tree.Add(Transform("rack", "lidar", 2.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("base", "imu", 5.0)).ok());
  const auto base_T_lidar = tree.Fixed("base", "lidar");
  ASSERT_TRUE(base_T_lidar.ok()) << base_T_lidar.status();
  EXPECT_LT((base_T_lidar->translation - Eigen::Vector3d(1.0, 2.0, 0.0)).norm(), 1e-12);
  const auto imu_T_lidar = tree.Fixed("imu", "lidar");
  ASSERT_TRUE(imu_T_lidar.ok()) << imu_T_lidar.status();
  EXPECT_LT((imu_T_lidar->translation - Eigen::Vector3d(-4.0, 2.0, 0.0)).norm(), 1e-12);
  const auto lidar_T_base = tree.Fixed("lidar", "base");
  ASSERT_TRUE(lidar_T_base.ok());
  EXPECT_LT(((*lidar_T_base) * Eigen::Vector3d(1.0, 2.0, 0.0)).norm(), 1e-12);
}

TEST(FrameTree, ATransformThatChangesIsNotFixed) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  EXPECT_TRUE(tree.Fixed("odom", "base").ok()) << "the same again";
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.5)).ok());
  const auto moved = tree.Fixed("odom", "base");
  EXPECT_EQ(moved.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(moved.status().message()), HasSubstr("moves"));
}

TEST(FrameTree, SaysWhichFramesThereAre) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("base", "lidar", 1.0)).ok());
  const auto missing = tree.Fixed("base_link", "lidar");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("'base_link'"), HasSubstr("base -> lidar")));
}

TEST(FrameTree, RefusesRingsAndFramesWithTwoParents) {
  FrameTree ring;
  ASSERT_TRUE(ring.Add(Transform("a", "b", 1.0)).ok());
  ASSERT_TRUE(ring.Add(Transform("b", "a", 1.0)).ok());
  EXPECT_THAT(std::string(ring.Fixed("c", "a").status().message()), HasSubstr("ring"));
  FrameTree two;
  ASSERT_TRUE(two.Add(Transform("a", "c", 1.0)).ok());
  ASSERT_TRUE(two.Add(Transform("b", "c", 1.0)).ok());
  EXPECT_THAT(std::string(two.Fixed("a", "c").status().message()), HasSubstr("'a' and 'b'"));
}

TEST(PoseTrack, GivesRecordedPosesUnchangedAndInterpolatesShortGaps) {
  PoseTrack track;
  for (const int64_t second : {3, 1, 0}) {
    Pose pose;
    pose.translation.x() = static_cast<double>(second);
    pose.rotation = Eigen::AngleAxisd(0.2 * static_cast<double>(second), Eigen::Vector3d::UnitZ());
    ASSERT_TRUE(track.Add(second * 1'000'000'000, pose).ok());
  }
  track.Finish();
  EXPECT_EQ(track.At(1'000'000'000)->translation.x(), 1.0);
  const std::optional<Pose> between = track.At(250'000'000);
  ASSERT_TRUE(between.has_value());
  EXPECT_DOUBLE_EQ(between->translation.x(), 0.25);
  EXPECT_NEAR(Eigen::AngleAxisd(between->rotation).angle(), 0.05, 1e-12);
  EXPECT_FALSE(track.At(2'000'000'000).has_value()) << "a gap of 2 s";
  EXPECT_FALSE(track.At(-1).has_value());
  EXPECT_FALSE(track.At(3'000'000'001).has_value());
}

TEST(PoseTrack, TheLastOfEqualStampsStays) {
  PoseTrack track;
  for (const double x : {1.0, 2.0, 3.0}) {
    Pose pose;
    pose.translation.x() = x;
    ASSERT_TRUE(track.Add(7, pose).ok());
  }
  track.Finish();
  ASSERT_EQ(track.poses().size(), 1u);
  EXPECT_EQ(track.At(7)->translation.x(), 3.0);
}

}  // namespace
}  // namespace voxloc::bag
