// SPDX-License-Identifier: Apache-2.0
//
// What sensors and clocks get wrong, and the sizes and layouts of clouds, through the bridge on the
// wire: the scan in question has its status, and the scans after it their poses.

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;
// More than any error of these scans, less than the error of their guesses.
constexpr double kNear_m = 0.15;

class InputOnTheWire : public BridgeTest {
 protected:
  // An active node, whose time is that of the drive.
  void StartActive(const ros::Parameters& parameters) {
    ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
    ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
    const auto activated = peer().CallTrigger(true, kTestTimeout);
    ASSERT_TRUE(activated.has_value() && activated->success);
  }

  // Scan `index` is found, and is where it was.
  void ExpectFound(size_t index) {
    (void)peer().TakePoses();
    const size_t before = peer().poses_received();
    const auto status = SendScan(index);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->level, kLevelOk) << status->message;
    ExpectPose(before + 1, drive().truth[index].stamp_ns, drive().truth[index].pose);
  }

  // The newest pose of so many since the node began.
  void ExpectPose(size_t count, int64_t stamp_ns, const Pose& map_T_base) {
    const std::vector<StampedPose> poses = AwaitPoses(count);
    ASSERT_FALSE(poses.empty());
    EXPECT_EQ(poses.back().stamp_ns, stamp_ns);
    EXPECT_LT(TranslationDistance(poses.back().frame_T_base, map_T_base), kNear_m);
  }
};

TEST_F(InputOnTheWire, CloudsOfEachSizeArrive) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  const std::vector<size_t> sizes = {100'000, 1'000'000, 4'000'000};
  size_t index = 0;
  for (const size_t bytes : sizes) {
    for (int i = 0; i < 3; ++i, ++index) {
      const PointCloud& points = drive().clouds[index];
      const voxloc::StampedPose& guess = drive().guessed[index];
      ASSERT_NO_FATAL_FAILURE(SetTime(guess.stamp_ns));
      if (index == 0) GivePose(guess.stamp_ns - 1, guess.pose);
      GivePose(guess.stamp_ns, guess.pose);
      const size_t repeat = 1 + bytes / (16 * points.size());
      const Cloud cloud = XyzCloud(points, guess.stamp_ns, kBaseFrame, repeat);
      ASSERT_GE(cloud.data.size(), bytes);
      const auto status = SendCloud(cloud);
      ASSERT_TRUE(status.has_value()) << bytes << " bytes";
      EXPECT_EQ(status->Find("sensor_points_size"), absl::StrCat(points.size() * repeat));
      ExpectPose(index + 1, guess.stamp_ns, drive().truth[index].pose);
    }
  }
}

TEST_F(InputOnTheWire, UnusualLayoutsGiveTheSamePoseToTheBit) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  PointCloud points = drive().clouds[0];
  points.x.resize(3000);  // an even number, for rows of the same length
  points.y.resize(3000);
  points.z.resize(3000);
  const voxloc::StampedPose& guess = drive().guessed[0];
  ASSERT_NO_FATAL_FAILURE(SetTime(guess.stamp_ns));
  GivePose(guess.stamp_ns - 1, guess.pose);
  GivePose(guess.stamp_ns, guess.pose);
  ASSERT_TRUE(SendCloud(XyzCloud(points, guess.stamp_ns, kBaseFrame)).has_value());
  ASSERT_TRUE(SendCloud(UnusualCloud(points, guess.stamp_ns, kBaseFrame)).has_value());
  const std::vector<StampedPose> poses = AwaitPoses(2);
  ASSERT_EQ(poses.size(), 2U);
  EXPECT_EQ(poses[0].frame_T_base.Matrix(), poses[1].frame_T_base.Matrix());
}

TEST_F(InputOnTheWire, MalformedCloudsHaveAnErrorAndTheNextOneItsPose) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  ASSERT_NO_FATAL_FAILURE(ExpectFound(0));
  struct Fault {
    const char* what;
    std::function<void(Cloud&)> make;
  };
  const std::vector<Fault> faults = {
      {"no z", [](Cloud& cloud) { cloud.fields.pop_back(); }},
      {"no fields", [](Cloud& cloud) { cloud.fields.clear(); }},
      {"coordinates that are bytes",
       [](Cloud& cloud) {
         for (CloudField& field : cloud.fields) field.type = FieldType::kInt8;
       }},
      {"a type that there is not",
       [](Cloud& cloud) { cloud.fields[0].type = static_cast<FieldType>(77); }},
      {"a field beyond the point", [](Cloud& cloud) { cloud.fields[2].offset = 14; }},
      {"a field at the end of the numbers",
       [](Cloud& cloud) { cloud.fields[1].offset = 0xfffffffe; }},
      {"points of no bytes", [](Cloud& cloud) { cloud.point_step = 0; }},
      {"fewer bytes than points", [](Cloud& cloud) { cloud.data.resize(cloud.data.size() / 2); }},
      {"more points than bytes", [](Cloud& cloud) { cloud.width = 0xffffffff; }},
      {"rows that overlap",
       [](Cloud& cloud) {
         cloud.height = 2;
         cloud.width /= 2;
         cloud.row_step = 4;
       }},
      {"no point",
       [](Cloud& cloud) {
         cloud.width = cloud.row_step = 0;
         cloud.data.clear();
       }},
      {"no number that is finite",
       [](Cloud& cloud) {
         const float nan = std::numeric_limits<float>::quiet_NaN();
         for (size_t i = 0; i + sizeof nan <= cloud.data.size(); i += sizeof nan) {
           std::memcpy(cloud.data.data() + i, &nan, sizeof nan);
         }
       }},
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    SCOPED_TRACE(faults[i].what);
    const voxloc::StampedPose& guess = drive().guessed[i + 1];
    ASSERT_NO_FATAL_FAILURE(SetTime(guess.stamp_ns));
    GivePose(guess.stamp_ns, guess.pose);
    Cloud cloud = XyzCloud(drive().clouds[i + 1], guess.stamp_ns, kBaseFrame);
    faults[i].make(cloud);
    const auto status = SendCloud(cloud);
    ASSERT_TRUE(status.has_value());
    EXPECT_GT(status->level, kLevelOk);
    EXPECT_FALSE(status->message.empty());
    EXPECT_NE(status->message, "OK");
  }
  ASSERT_NO_FATAL_FAILURE(ExpectFound(faults.size() + 1));
  EXPECT_EQ(peer().poses_received(), 2U) << "a malformed cloud had a pose";
}

TEST_F(InputOnTheWire, CloudsWaitForTheirTransform) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  // The sensor sits ahead of the base and above it, and looks back.
  const Pose base_T_lidar = {{0.9, 0.1, 1.8},
                             Eigen::Quaterniond(Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitZ()))};
  const auto send = [&](size_t index) {
    const voxloc::StampedPose& guess = drive().guessed[index];
    SetTime(guess.stamp_ns);
    const Pose map_T_base = guess.pose * base_T_lidar.Inverse();
    if (index == 0) GivePose(guess.stamp_ns - 1, map_T_base);
    GivePose(guess.stamp_ns, map_T_base);
    return SendCloud(XyzCloud(drive().clouds[index], guess.stamp_ns, "lidar_top"));
  };
  auto status = send(0);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelError);
  EXPECT_EQ(status->Find("is_succeed_transform_sensor_points"), "False");
  EXPECT_THAT(status->message, testing::HasSubstr("lidar_top"));

  // In two steps, as a vehicle's description has it.
  peer().PublishStaticTransform({0, kBaseFrame, "sensor_kit", {{0.9, 0.1, 1.0}, {1, 0, 0, 0}}});
  peer().PublishStaticTransform(
      {0, "sensor_kit", "lidar_top", {{0.0, 0.0, 0.8}, base_T_lidar.rotation}});
  size_t index = 1;
  ASSERT_TRUE(Eventually([&] {
    status = send(index++);
    return status.has_value() && status->Find("is_succeed_transform_sensor_points") == "True";
  }));
  EXPECT_EQ(status->level, kLevelOk) << status->message;
  const voxloc::StampedPose& truth = drive().truth[index - 1];
  ExpectPose(1, truth.stamp_ns, truth.pose * base_T_lidar.Inverse());
}

TEST_F(InputOnTheWire, TwoLidarsAreOneScan) {
  ros::Parameters parameters = Defaults();
  parameters.voxloc.points_extra_topics = {kSecondLidarTopic};
  ASSERT_NO_FATAL_FAILURE(StartActive(parameters));
  ASSERT_TRUE(peer().AwaitReaderOfSecondLidar(kTestTimeout));
  const Pose base_T_left = {{1.0, 0.8, 1.5},
                            Eigen::Quaterniond(Eigen::AngleAxisd(1.2, Eigen::Vector3d::UnitZ()))};
  const Pose base_T_right = {{1.0, -0.8, 1.5},
                             Eigen::Quaterniond(Eigen::AngleAxisd(-1.2, Eigen::Vector3d::UnitZ()))};
  peer().PublishStaticTransform({0, kBaseFrame, "left", base_T_left});
  peer().PublishStaticTransform({0, kBaseFrame, "right", base_T_right});
  // Each sees the half of the scan on its side, in its own frame.
  const auto send = [&](size_t index) {
    const voxloc::StampedPose& guess = drive().guessed[index];
    const PointCloud& scan = drive().clouds[index];
    PointCloud left;
    PointCloud right;
    for (size_t i = 0; i < scan.size(); ++i) {
      const bool is_left = scan.y[i] > 0.0F;
      const Pose& mount = is_left ? base_T_left : base_T_right;
      const Eigen::Vector3f point = (mount.Inverse() * scan.Point(i)).cast<float>();
      (is_left ? left : right).PushBack(point.x(), point.y(), point.z());
    }
    SetTime(guess.stamp_ns);
    if (index == 0) GivePose(guess.stamp_ns - 1, guess.pose);
    GivePose(guess.stamp_ns, guess.pose);
    peer().PublishOfSecondLidar(XyzCloud(right, guess.stamp_ns, "right"));
    return SendCloud(XyzCloud(left, guess.stamp_ns, "left"), absl::Seconds(1));
  };
  // Transforms may come after the first clouds.
  size_t index = 0;
  std::optional<Diagnostic> status;
  ASSERT_TRUE(Eventually([&] {
    status = send(index++);
    return status.has_value() &&
           status->Find("sensor_points_size") == absl::StrCat(drive().clouds[index - 1].size());
  }));
  EXPECT_EQ(status->level, kLevelOk) << status->message;
  ExpectPose(1, drive().truth[index - 1].stamp_ns, drive().truth[index - 1].pose);
}

// A vehicle that drives fast through a bend while the LiDAR turns once.
TEST_F(InputOnTheWire, TwistsOfBothTypesMovePointsToTheStamp) {
  ros::Parameters parameters = Defaults();
  parameters.voxloc.twist_source = "topic";
  parameters.voxloc.points_time_field = "auto";
  ASSERT_NO_FATAL_FAILURE(StartActive(parameters));
  ASSERT_TRUE(peer().AwaitReaderOfTwists(kTestTimeout));
  constexpr double kTurn_s = 0.1;
  const Twist twist{{15.0, 0.0, 0.0}, {0.0, 0.0, 0.5}};
  const PointCloud& points = drive().clouds[0];
  const Pose& guess = drive().guessed[0].pose;
  int64_t stamp_ns = drive().truth[0].stamp_ns;
  // How far the pose of a scan is from the truth, a second after the one before.
  const auto error_m = [&](const std::function<void()>& publish_twist) {
    stamp_ns += kSecond_ns;
    SetTime(stamp_ns);
    publish_twist();
    GivePose(stamp_ns - 1, guess);
    GivePose(stamp_ns, guess);
    const size_t before = peer().poses_received();
    if (!SendCloud(SkewedCloud(points, stamp_ns, kBaseFrame, twist, kTurn_s)).has_value()) {
      return 1e9;
    }
    const std::vector<StampedPose> poses = AwaitPoses(before + 1);
    if (poses.empty()) return 1e9;
    return TranslationDistance(poses.back().frame_T_base, drive().truth[0].pose);
  };
  EXPECT_GT(error_m([] {}), 2.0 * kNear_m) << "the clouds are not skewed enough";
  // A twist and a cloud may change places on their way.
  EXPECT_TRUE(Eventually([&] {
    return error_m([&] { peer().PublishTwist(stamp_ns, kBaseFrame, twist); }) < kNear_m;
  }));
  EXPECT_TRUE(Eventually([&] {
    return error_m([&] { peer().PublishTwistWithCovariance(stamp_ns, kBaseFrame, twist); }) <
           kNear_m;
  }));
  EXPECT_GT(error_m([] {}), 2.0 * kNear_m) << "old twists are used";
}

TEST_F(InputOnTheWire, StampsOfThePastAndTheFutureAreReportedAndKept) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  ASSERT_NO_FATAL_FAILURE(ExpectFound(0));
  const int64_t now_ns = drive().truth[0].stamp_ns + 100 * kSecond_ns;
  ASSERT_NO_FATAL_FAILURE(SetTime(now_ns));
  size_t poses = 1;
  for (const int64_t offset_ns : {-20 * kSecond_ns, 20 * kSecond_ns}) {
    const int64_t stamp_ns = now_ns + offset_ns;
    const Pose& guess = drive().guessed[1].pose;
    GivePose(stamp_ns - 1, guess);
    GivePose(stamp_ns, guess);
    const auto status = SendCloud(XyzCloud(drive().clouds[1], stamp_ns, kBaseFrame));
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->level, kLevelWarn) << status->message;
    const std::optional<std::string> delay = status->Find("sensor_points_delay_time_sec");
    ASSERT_TRUE(delay.has_value());
    EXPECT_NEAR(std::stod(*delay), static_cast<double>(-offset_ns) * 1e-9, 1e-3);
    ExpectPose(++poses, stamp_ns, drive().truth[1].pose);
  }
}

TEST_F(InputOnTheWire, TheNodeGoesOnAfterTenMinutesWithoutScans) {
  ASSERT_NO_FATAL_FAILURE(StartActive(Defaults()));
  for (size_t i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(ExpectFound(i));
  // The vehicle's filter goes on meanwhile, with 5 poses a second.
  const int64_t from_ns = drive().truth[3].stamp_ns;
  const Pose& guess = drive().guessed[3].pose;
  constexpr int64_t kStep_ns = kSecond_ns / 5;
  for (int64_t i = 1; i <= 600 * 5; ++i) {
    peer().PublishClock(from_ns + i * kStep_ns);
    StampedPose pose;
    pose.stamp_ns = from_ns + i * kStep_ns;
    pose.frame_id = "map";
    pose.frame_T_base = guess;
    peer().PublishEkfPose(pose);
    if (i % 50 == 0) {
      ASSERT_NO_FATAL_FAILURE(SetTime(pose.stamp_ns));
    }
  }
  const int64_t stamp_ns = from_ns + 600 * kSecond_ns;
  GivePose(stamp_ns, guess);
  const auto status = SendCloud(XyzCloud(drive().clouds[3], stamp_ns, kBaseFrame));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelOk) << status->message;
  ExpectPose(4, stamp_ns, drive().truth[3].pose);
}

}  // namespace
}  // namespace voxloc::ros_wire
