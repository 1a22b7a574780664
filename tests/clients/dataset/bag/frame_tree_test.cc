// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/dataset/bag/pose_source.h"

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
  const auto base_T_lidar = tree.FixedTransform("base", "lidar");
  ASSERT_TRUE(base_T_lidar.ok()) << base_T_lidar.status();
  EXPECT_LT((base_T_lidar->translation - Eigen::Vector3d(1.0, 2.0, 0.0)).norm(), 1e-12);
  const auto imu_T_lidar = tree.FixedTransform("imu", "lidar");
  ASSERT_TRUE(imu_T_lidar.ok()) << imu_T_lidar.status();
  EXPECT_LT((imu_T_lidar->translation - Eigen::Vector3d(-4.0, 2.0, 0.0)).norm(), 1e-12);
  const auto lidar_T_base = tree.FixedTransform("lidar", "base");
  ASSERT_TRUE(lidar_T_base.ok());
  EXPECT_LT(((*lidar_T_base) * Eigen::Vector3d(1.0, 2.0, 0.0)).norm(), 1e-12);
}

TEST(FrameTree, ATransformThatChangesIsNotFixed) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  EXPECT_TRUE(tree.FixedTransform("odom", "base").ok()) << "the same again";
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.5)).ok());
  const auto moved = tree.FixedTransform("odom", "base");
  EXPECT_EQ(moved.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(moved.status().message()), HasSubstr("moves"));
}

TEST(FrameTree, SaysWhichFramesThereAre) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("base", "lidar", 1.0)).ok());
  const auto missing = tree.FixedTransform("base_link", "lidar");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("'base_link'"), HasSubstr("base -> lidar")));
}

TEST(FrameTree, NoiseAndTheSignOfAQuaternionMoveNothing) {
  FrameTree tree;
  PoseMessage mount = Transform("base", "lidar", 1.0, 0.3);
  ASSERT_TRUE(tree.Add(mount).ok());
  mount.rotation.coeffs() *= -1.0;
  ASSERT_TRUE(tree.Add(mount).ok());
  mount.translation.y() += 1e-9;
  mount.rotation.x() += 1e-9;
  ASSERT_TRUE(tree.Add(mount).ok());
  const auto through_floats = [](double value) {
    return static_cast<double>(static_cast<float>(value));
  };
  for (int i = 0; i < 4; ++i) {
    mount.rotation.coeffs()[i] = through_floats(mount.rotation.coeffs()[i]);
  }
  ASSERT_TRUE(tree.Add(mount).ok());
  EXPECT_TRUE(tree.FixedTransform("base", "lidar").ok());
  for (const bool turned : {false, true}) {
    FrameTree moved;
    ASSERT_TRUE(moved.Add(Transform("base", "lidar", 1.0)).ok());
    ASSERT_TRUE(
        moved.Add(Transform("base", "lidar", turned ? 1.0 : 1.0001, turned ? 1e-4 : 0.0)).ok());
    EXPECT_FALSE(moved.FixedTransform("base", "lidar").ok()) << turned;
  }
}

TEST(FrameTree, TwoParentsAboveBothFramesDoNotMatter) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("map", "base", 5.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 2.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("map", "base", 6.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("base", "lidar", 0.5)).ok());
  ASSERT_TRUE(tree.Add(Transform("base", "imu", 0.25)).ok());
  EXPECT_EQ(tree.FixedTransform("base", "lidar")->translation.x(), 0.5);
  EXPECT_EQ(tree.FixedTransform("imu", "lidar")->translation.x(), 0.25);
  const auto steps = tree.Path("lidar", "map");
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[1].edge, FrameTree::Key("base", "map"));
  EXPECT_THAT(std::string(tree.FixedTransform("odom", "base").status().message()),
              HasSubstr("moves"));
  EXPECT_THAT(tree.Text(),
              AllOf(HasSubstr("odom -> base (moves)"), HasSubstr("map -> base (moves)")));
}

TEST(FrameTree, TheDirectTransformDecides) {
  FrameTree tree;
  ASSERT_TRUE(tree.Add(Transform("map", "odom", 1.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("odom", "base", 1.0)).ok());
  ASSERT_TRUE(tree.Add(Transform("map", "base", 2.5)).ok());
  EXPECT_EQ(tree.FixedTransform("map", "base")->translation.x(), 2.5);
  EXPECT_EQ(tree.FixedTransform("base", "map")->translation.x(), -2.5);
  EXPECT_EQ(tree.FixedTransform("map", "odom")->translation.x(), 1.0);
}

TEST(FrameTree, RefusesWaysOfEqualLengthAndRings) {
  FrameTree diamond;
  for (const char* between : {"a", "b"}) {
    ASSERT_TRUE(diamond.Add(Transform("map", between, 1.0)).ok());
    ASSERT_TRUE(diamond.Add(Transform(between, "base", 1.0)).ok());
  }
  const auto two = diamond.FixedTransform("map", "base");
  EXPECT_EQ(two.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(two.status().message()),
              AllOf(HasSubstr("one shortest way"), HasSubstr("over 'a' and one over 'b'")));
  FrameTree roofs;
  for (const char* parent : {"a", "b"}) {
    ASSERT_TRUE(roofs.Add(Transform(parent, "left", 1.0)).ok());
    ASSERT_TRUE(roofs.Add(Transform(parent, "right", 1.0)).ok());
  }
  EXPECT_THAT(std::string(roofs.FixedTransform("left", "right").status().message()),
              HasSubstr("over 'a' and one over 'b'"));
  FrameTree ring;
  ASSERT_TRUE(ring.Add(Transform("a", "b", 1.0)).ok());
  ASSERT_TRUE(ring.Add(Transform("b", "a", 1.0)).ok());
  EXPECT_THAT(std::string(ring.FixedTransform("c", "a").status().message()), HasSubstr("ring"));
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
