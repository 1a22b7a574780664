// SPDX-License-Identifier: Apache-2.0
//
// What a drive says where topics and frames leave a choice, or nothing to choose.

#include "clients/dataset/bag/drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/clients/dataset/bag/bag_fixtures.h"
#include "tests/clients/dataset/bag/mcap_writer.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::bag {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Refusal(const DriveOptions& options) {
  return std::string(Drive::Open(options).status().message());
}

class DriveTest : public ::testing::Test {
 protected:
  DriveTest() { options_.paths = {FixturePath("none.mcap")}; }

  // A second topic of the same messages beside the fixture's.
  void AddTopic(const std::string& type, const std::string& topic, const std::string& copy_of) {
    const auto bag = OpenBag({FixturePath("none.mcap")});
    ASSERT_TRUE(bag.ok());
    absl::Status status;
    std::string records = absl::StrCat(McapSchemaBytes(1, type), McapChannelBytes(1, 1, topic));
    for (const ReadMessage& message : ReadAll(**bag, &status, copy_of)) {
      absl::StrAppend(
          &records, McapMessageBytes(1, static_cast<uint64_t>(message.recorded_ns), message.bytes));
    }
    const std::string path = scratch_.Path(absl::StrCat(options_.paths.size(), ".mcap"));
    std::ofstream(path, std::ios::binary) << McapFile(records);
    options_.paths.push_back(path);
  }

  ScratchDir scratch_;
  DriveOptions options_;
};

TEST_F(DriveTest, SaysWhatItChose) {
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  EXPECT_THAT((*drive)->remarks(),
              Contains("points from /points (sensor_msgs/msg/PointCloud2, 3 messages)"));
  EXPECT_THAT((*drive)->remarks(),
              Contains("poses from /odom (nav_msgs/msg/Odometry, 5 messages)"));
  EXPECT_THAT((*drive)->remarks(), Contains("poses of 'base_link' in 'odom'"));
  EXPECT_THAT((*drive)->remarks(), Contains(HasSubstr("'lidar' sits on 'base_link' at 1.500")));
}

TEST_F(DriveTest, AsksWhichOfSeveralTopicsOfCloudsIsMeant) {
  AddTopic("sensor_msgs/msg/PointCloud2", "/rear/points", "/points");
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("--points-topic"), HasSubstr("/rear/points (")));
  options_.points_topic = "/rear/points";
  EXPECT_TRUE(Drive::Open(options_).ok());
}

TEST_F(DriveTest, AsksWhichOfSeveralTopicsOfPosesIsMeant) {
  AddTopic("nav_msgs/msg/Odometry", "/wheels", "/odom");
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("--poses-topic"), HasSubstr("/wheels (")));
  options_.poses_topic = "/wheels";
  options_.guesses_topic = "/odom";
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  for (const DriveScan& scan : (*drive)->scans()) {
    EXPECT_EQ(scan.guess_map_T_base.translation, scan.map_T_base.translation);
  }
}

TEST_F(DriveTest, NamesTheNearestTopic) {
  options_.points_topic = "/pionts";
  EXPECT_THAT(Refusal(options_), HasSubstr("did you mean /points?"));
  options_.points_topic = "/chatter";
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("std_msgs/msg/String"), HasSubstr("/points (")));
}

TEST_F(DriveTest, SaysWhatTheBagHasInsteadOfClouds) {
  AddTopic("point_cloud_interfaces/msg/CompressedPointCloud2", "/points/draco", "/chatter");
  options_.paths = {options_.paths.back()};
  EXPECT_THAT(Refusal(options_),
              AllOf(HasSubstr("no sensor_msgs/PointCloud2"), HasSubstr("CompressedPointCloud2")));
}

TEST_F(DriveTest, NeedsAWayFromTheSensorToTheBase) {
  options_.frames.base = "wheel";
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("'wheel'"), HasSubstr("base_link -> lidar")));
}

TEST_F(DriveTest, TakesTheMountThatTheUserSays) {
  Pose base_T_sensor;
  base_T_sensor.translation.z() = 7.0;
  options_.base_T_sensor = base_T_sensor;
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  EXPECT_EQ((*drive)->base_T_sensor()->translation.z(), 7.0);
}

TEST_F(DriveTest, PosesOfTheSensorItselfNeedNoMount) {
  options_.frames.base = "lidar";
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  EXPECT_FALSE((*drive)->base_T_sensor().has_value());
  // The second scan: the base at (1, -0.5, 0) with a yaw of 0.2 rad, the sensor 1.5 m before it.
  const Eigen::Vector3d expected(1.0 + 1.5 * std::cos(0.2), -0.5 + 1.5 * std::sin(0.2), 2.0);
  EXPECT_LT(((*drive)->scans()[1].map_T_base.translation - expected).norm(), 1e-12);
}

TEST_F(DriveTest, PosesOfAFileNeedTheFrameThatTheyAreOf) {
  options_.poses_file = scratch_.Path("poses.txt");
  std::ofstream(options_.poses_file)
      << "1700000000.20 4 5 6 0 0 0 1\n1700000000.36 4 5 6 0 0 0 1\n";
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("--base-frame"), HasSubstr("'lidar'")));
  options_.frames.base = "base_link";
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  ASSERT_EQ((*drive)->scans().size(), 2u) << "the first scan is before the first pose";
  EXPECT_EQ((*drive)->scans()[0].number, 1u);
  EXPECT_THAT((*drive)->remarks(), Contains(HasSubstr("1 scans are left out")));
  const auto clouds = (*drive)->ReadClouds();
  ASSERT_TRUE(clouds.ok());
  EXPECT_EQ((*clouds)->Next()->Point(0).x(), 11.0) << "the cloud of the second scan";
}

TEST_F(DriveTest, SaysWhenScansAndPosesHaveNoTimeInCommon) {
  options_.poses_file = scratch_.Path("poses.txt");
  options_.frames.base = "base_link";
  std::ofstream(options_.poses_file) << "5.0 4 5 6 0 0 0 1\n6.0 4 5 6 0 0 0 1\n";
  EXPECT_THAT(Refusal(options_),
              AllOf(HasSubstr("1700000000.050000000"), HasSubstr("5.000000000")));
}

TEST_F(DriveTest, SaysHowTheBaseMovesDuringASweep) {
  // Standing, then 10 m/s along x with 0.5 rad/s to the left, then a gap.
  options_.poses_file = scratch_.Path("poses.txt");
  options_.frames.base = "base_link";
  std::ofstream(options_.poses_file)
      << "1700000000.0 0 0 0 0 0 0 1\n1700000000.2 0 0 0 0 0 0 1\n"
      << "1700000000.4 2 0 0 0 0 0.049979169 0.998750260\n1700000002.0 9 0 0 0 0 0 1\n";
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  const auto x_mps = [&](double from_s, double to_s) {
    const auto stamp_ns = [](double s) { return kBagStart_ns + static_cast<int64_t>(s * 1e9); };
    const std::optional<Twist> twist = (*drive)->TwistDuring(stamp_ns(from_s), stamp_ns(to_s));
    return twist.has_value() ? twist->linear_m_s.norm() : -1.0;
  };
  EXPECT_EQ(x_mps(0.0, 0.2), 0.0);
  EXPECT_NEAR(x_mps(0.2, 0.4), 10.0, 1e-6);
  EXPECT_NEAR(x_mps(0.1, 0.3), 5.0, 1e-6);
  EXPECT_NEAR(x_mps(0.25, 0.25), 10.0, 1e-6) << "0.1 s at least";
  EXPECT_EQ(x_mps(-0.3, -0.2), 0.0) << "before the first pose";
  EXPECT_EQ(x_mps(0.35, 0.45), -1.0) << "into the gap";
  EXPECT_EQ(x_mps(1.95, 2.05), -1.0) << "after the last pose, in the gap before it";
  EXPECT_NEAR((*drive)
                  ->TwistDuring(kBagStart_ns + 200'000'000, kBagStart_ns + 400'000'000)
                  ->angular_rad_s.z(),
              0.5, 1e-6);
}

TEST_F(DriveTest, SaysWhichFramesTfHasForPoses) {
  options_.poses_topic = "/tf";
  options_.frames.map = "map";
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("--base-frame"), HasSubstr("odom -> base_link")));
  options_.frames.base = "base_link";
  EXPECT_THAT(Refusal(options_), AllOf(HasSubstr("'map'"), HasSubstr("odom -> base_link")));
}

TEST_F(DriveTest, StopsAfterTheScansAskedFor) {
  options_.max_scans = 2;
  const auto drive = Drive::Open(options_);
  ASSERT_TRUE(drive.ok()) << drive.status();
  EXPECT_EQ((*drive)->scans().size(), 2u);
  EXPECT_THAT((*drive)->remarks(), Not(Contains(HasSubstr("left out"))));
}

}  // namespace
}  // namespace voxloc::bag
