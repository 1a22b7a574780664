// SPDX-License-Identifier: Apache-2.0
//
// The way of scans through the bridge, the real server, and back.

#include "clients/ros/core/bridge.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/geometry/euler.h"
#include "tests/clients/ros/bridge_fixture.h"
#include "tests/server/gated_engine.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/gate.h"

namespace voxloc::ros {
namespace {

using server::TestServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BridgeTest : public BridgeFixture {
 protected:
  void SetUp() override { server_.LoadTown(); }
  void TearDown() override { bridge_.reset(); }
  void StartActive() {
    parameters_.voxloc.activate_at_start = true;
    StartBridge(server_.server().address());
    ASSERT_TRUE(AwaitConnection());
  }

  TestServer server_;
};

TEST_F(BridgeTest, EveryScanOfADriveHasAPoseATransformAndAllDiagnostics) {
  StartActive();
  constexpr int kScans = 20;
  for (int i = 0; i < kScans; ++i) {
    const DiagnosticStatus status = Drive(i);
    EXPECT_EQ(status.level, DiagnosticStatus::kOk) << status.message;
    EXPECT_EQ(status.name, "ndt_scan_matcher: scan_matching_status");
    EXPECT_EQ(status.hardware_id, "ndt_scan_matcher");
    EXPECT_THAT(
        KeysOf(status),
        ElementsAre("topic_time_stamp", "sensor_points_size", "sensor_points_delay_time_sec",
                    "is_succeed_transform_sensor_points", "sensor_points_max_distance",
                    "is_activated", "is_succeed_interpolate_initial_pose", "is_set_map_points",
                    "iteration_num", "local_optimal_solution_oscillation_num",
                    "transform_probability", "nearest_voxel_transformation_likelihood",
                    "transform_probability_diff", "transform_probability_before",
                    "nearest_voxel_transformation_likelihood_diff",
                    "nearest_voxel_transformation_likelihood_before", "distance_initial_to_result",
                    "execution_time", "skipping_publish_num"));
    EXPECT_EQ(ValueOf(status, "topic_time_stamp"), std::to_string(StampAt(i)));
    EXPECT_EQ(ValueOf(status, "sensor_points_size"), "1000");
    EXPECT_EQ(ValueOf(status, "sensor_points_delay_time_sec"), "0.050000");
    EXPECT_EQ(ValueOf(status, "is_activated"), "True");
  }
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  const auto with_covariance =
      fakes_.output.Of<PoseWithCovarianceStamped>(Topic::kNdtPoseWithCovariance);
  const auto transforms = fakes_.output.transforms();
  const auto initial =
      fakes_.output.Of<PoseWithCovarianceStamped>(Topic::kInitialPoseWithCovariance);
  ASSERT_EQ(poses.size(), static_cast<size_t>(kScans));
  ASSERT_EQ(with_covariance.size(), poses.size());
  ASSERT_EQ(transforms.size(), poses.size());
  ASSERT_EQ(initial.size(), poses.size());
  for (size_t i = 0; i < poses.size(); ++i) {
    const Pose truth = TruthAt(static_cast<int>(i));
    EXPECT_LT(TranslationDistance(poses[i].pose, truth), 0.05) << i;
    EXPECT_LT(RotationDistance(poses[i].pose, truth), 0.01) << i;
    EXPECT_EQ(poses[i].header.stamp_ns, StampAt(static_cast<int>(i)));
    EXPECT_EQ(poses[i].header.frame_id, "map");
    EXPECT_EQ(transforms[i].header.stamp_ns, poses[i].header.stamp_ns);
    EXPECT_EQ(transforms[i].child_frame_id, "ndt_base_link");
    EXPECT_EQ(transforms[i].parent_T_child.translation, poses[i].pose.translation);
    EXPECT_EQ(transforms[i].parent_T_child.rotation.coeffs(), poses[i].pose.rotation.coeffs());
    // Autoware's fixed covariance: 15 cm in every direction, whatever the heading.
    EXPECT_NEAR(with_covariance[i].covariance(0, 0), 0.0225, 1e-9);
    EXPECT_NEAR(with_covariance[i].covariance(5, 5), 0.000625, 1e-9);
    // Interpolated between two poses that are 0.2 m off.
    EXPECT_NEAR(initial[i].covariance(1, 1), 0.04, 1e-12);
    EXPECT_LT((initial[i].pose.translation - truth.translation - Eigen::Vector3d(0.1, -0.15, 0.05))
                  .norm(),
              1e-9);
  }
  for (const Topic topic :
       {Topic::kExeTimeMs, Topic::kTransformProbability,
        Topic::kNearestVoxelTransformationLikelihood, Topic::kIterationNum,
        Topic::kInitialToResultRelativePose, Topic::kInitialToResultDistance,
        Topic::kInitialToResultDistanceOld, Topic::kInitialToResultDistanceNew}) {
    EXPECT_EQ(fakes_.output.Count(topic), poses.size()) << InfoOf(topic).name;
  }
  const auto distance = fakes_.output.Of<Float32Stamped>(Topic::kInitialToResultDistance).front();
  EXPECT_NEAR(distance.data, TranslationDistance(poses.front().pose, initial.front().pose), 1e-6);
  const auto relative = fakes_.output.Of<PoseStamped>(Topic::kInitialToResultRelativePose).front();
  EXPECT_LT(TranslationDistance(initial.front().pose * relative.pose, poses.front().pose), 1e-9);
  const BridgeCounters counters = bridge().counters();
  EXPECT_EQ(counters.received, static_cast<uint64_t>(kScans));
  EXPECT_EQ(counters.sent, static_cast<uint64_t>(kScans));
  EXPECT_EQ(counters.published, static_cast<uint64_t>(kScans));
}

TEST_F(BridgeTest, StartsInactiveAndForgetsPosesFromBefore) {
  StartBridge(server_.server().address());
  ASSERT_TRUE(AwaitConnection());
  DiagnosticStatus status = Drive(0);
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "is_activated"), "False");
  EXPECT_EQ(ValueOf(status, "skipping_publish_num"), "0");
  EXPECT_THAT(KeysOf(status), ::testing::Not(::testing::Contains("is_set_map_points")));
  const auto poses = fakes_.output.Statuses("initial_pose_subscriber_status");
  ASSERT_EQ(poses.size(), 2u);
  EXPECT_EQ(poses[0].level, DiagnosticStatus::kWarn);
  EXPECT_THAT(KeysOf(poses[0]), ElementsAre("topic_time_stamp", "is_activated"));
  EXPECT_EQ(bridge().counters().sent, 0u) << "nothing goes over the link";

  EXPECT_TRUE(bridge().Trigger(true).success);
  SendScan(1);
  ASSERT_TRUE(AwaitStatuses(2));
  status = ScanStatuses().back();
  EXPECT_EQ(ValueOf(status, "is_activated"), "True");
  EXPECT_EQ(ValueOf(status, "is_succeed_interpolate_initial_pose"), "False");
  EXPECT_THAT(status.message, HasSubstr("ekf_pose_with_covariance"));

  EXPECT_EQ(Drive(2).level, DiagnosticStatus::kOk);
  // Activated again: the poses are gone, also those that the server has.
  EXPECT_TRUE(bridge().Trigger(false).success);
  EXPECT_TRUE(bridge().Trigger(true).success);
  EXPECT_TRUE(Eventually(
      [this] { return fakes_.output.Statuses("trigger_node_service_status").size() == 3; }));
  EXPECT_THAT(KeysOf(fakes_.output.Statuses("trigger_node_service_status")[1]),
              ElementsAre("service_call_time_stamp", "is_activated", "is_succeed_service"));
  PoseWithCovarianceStamped late;
  late.header = {StampAt(3) + kPeriodNs, "map"};
  late.pose = TruthAt(3);
  bridge().OnInitialPose(late);
  SendScan(3);
  ASSERT_TRUE(AwaitStatuses(4));
  EXPECT_EQ(ValueOf(ScanStatuses().back(), "is_succeed_interpolate_initial_pose"), "False");
}

TEST_F(BridgeTest, ScansThatCannotBeUsedAreNotSentAndSayWhy) {
  StartActive();
  SendPosesAround(0);
  const auto last = [this](size_t count) {
    EXPECT_TRUE(AwaitStatuses(count));
    return ScanStatuses().back();
  };
  SendScan(0, "lidar_top");
  DiagnosticStatus status = last(1);
  EXPECT_EQ(status.level, DiagnosticStatus::kError);
  EXPECT_EQ(ValueOf(status, "is_succeed_transform_sensor_points"), "False");
  EXPECT_THAT(status.message, AllOf(HasSubstr("lidar_top"), HasSubstr("base_link")));

  TestCloud cloud = MessageOf(ScanAt(0));
  cloud.header = {StampAt(0), "base_link"};
  cloud.fields[2].name = "height";
  bridge().OnPoints(cloud.View());
  status = last(2);
  EXPECT_EQ(status.level, DiagnosticStatus::kError);
  EXPECT_THAT(status.message, AllOf(HasSubstr("'z'"), HasSubstr("height")));

  bridge().OnPoints(TestCloud(0, 16).View());
  status = last(3);
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "sensor_points_size"), "0");

  PointCloud small;
  small.PushBack(9.0F, 1.0F, 0.0F);
  TestCloud near = MessageOf(small);
  near.header = {StampAt(0), "base_link"};
  bridge().OnPoints(near.View());
  status = last(4);
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "sensor_points_max_distance"), std::to_string(std::sqrt(82.0)));

  EXPECT_EQ(bridge().counters().sent, 0u);
  EXPECT_EQ(bridge().counters().refused, 4u);
  EXPECT_EQ(ValueOf(status, "skipping_publish_num"), "4");
  EXPECT_EQ(Drive(1).level, DiagnosticStatus::kOk);
}

TEST_F(BridgeTest, MountsComeFromTf) {
  const Pose mount{{1.2, 0.1, 1.9}, RotationFromRosAngles(0.02, 0.05, -0.6)};
  fakes_.transforms.Set("base_link", "lidar_top", mount);
  StartActive();
  SendPosesAround(0);
  SendScan(0, "lidar_top", mount);
  ASSERT_TRUE(AwaitStatuses(1));
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  ASSERT_EQ(poses.size(), 1u) << ScanStatuses().back().message;
  EXPECT_LT(TranslationDistance(poses[0].pose, TruthAt(0)), 0.05);
  // Of the base, not of the sensor.
  double farthest = 0.0;
  for (size_t i = 0; i < ScanAt(0).size(); ++i) {
    farthest = std::max(farthest, ScanAt(0).Point(i).norm());
  }
  EXPECT_NEAR(std::stod(ValueOf(ScanStatuses().back(), "sensor_points_max_distance")), farthest,
              1e-4);
}

TEST_F(BridgeTest, TwoLidarsAreOneScan) {
  const Pose left{{1.0, 0.8, 1.5}, RotationFromRosAngles(0.0, 0.1, 1.2)};
  const Pose right{{1.0, -0.8, 1.5}, RotationFromRosAngles(0.0, -0.1, -1.2)};
  fakes_.transforms.Set("base_link", "left", left);
  fakes_.transforms.Set("base_link", "right", right);
  parameters_.voxloc.points_extra_topics = {"right/points"};
  StartActive();
  SendPosesAround(0);
  PointCloud halves[2];
  const PointCloud& scan = ScanAt(0);
  for (size_t i = 0; i < scan.size(); ++i) {
    const Pose& mount = scan.y[i] > 0.0F ? left : right;
    const Eigen::Vector3f point = (mount.Inverse() * scan.Point(i)).cast<float>();
    halves[scan.y[i] > 0.0F ? 0 : 1].PushBack(point.x(), point.y(), point.z());
  }
  TestCloud first = MessageOf(halves[0]);
  first.header = {StampAt(0), "left"};
  TestCloud second = MessageOf(halves[1], 12);
  second.header = {StampAt(0), "right"};
  bridge().OnPoints(first.View());
  EXPECT_EQ(bridge().counters().sent, 0u) << "it waits for the other one";
  bridge().OnPoints(second.View(), 1);
  ASSERT_TRUE(AwaitStatuses(1));
  EXPECT_EQ(ValueOf(ScanStatuses().back(), "sensor_points_size"), "1000");
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  ASSERT_EQ(poses.size(), 1u) << ScanStatuses().back().message;
  EXPECT_LT(TranslationDistance(poses[0].pose, TruthAt(0)), 0.05);
}

TEST_F(BridgeTest, OutputsThatCostComeWhileSomebodyListens) {
  parameters_.score_estimation.no_ground_points_enable = true;
  parameters_.covariance.covariance_estimation_type = 2;
  StartActive();
  EXPECT_EQ(Drive(0).level, DiagnosticStatus::kOk);
  const Topic on_demand[] = {Topic::kNdtMarker, Topic::kPointsAligned, Topic::kVoxelScorePoints,
                             Topic::kPointsAlignedNoGround};
  for (const Topic topic : on_demand) {
    EXPECT_EQ(fakes_.output.Count(topic), 0u) << InfoOf(topic).name;
    fakes_.output.Subscribe(topic);
  }
  EXPECT_EQ(Drive(1).level, DiagnosticStatus::kOk);
  for (const Topic topic : on_demand) {
    EXPECT_EQ(fakes_.output.Count(topic), 1u) << InfoOf(topic).name;
  }
  const Pose result = fakes_.output.Of<PoseStamped>(Topic::kNdtPose).back().pose;
  const auto aligned = fakes_.output.Of<PointCloud2>(Topic::kPointsAligned).front();
  EXPECT_EQ(aligned.width, 1000u);
  EXPECT_EQ(aligned.header.frame_id, "map");
  float xyz[3];
  std::memcpy(xyz, aligned.data.data(), sizeof(xyz));
  EXPECT_LT((Eigen::Vector3d(xyz[0], xyz[1], xyz[2]) - result * ScanAt(1).Point(0)).norm(), 1e-4);
  const auto markers = fakes_.output.Of<std::vector<ArrowMarker>>(Topic::kNdtMarker).front();
  EXPECT_EQ(markers.size(), 32u);
  const auto iterations = fakes_.output.Of<Int32Stamped>(Topic::kIterationNum).back().data;
  EXPECT_LT(TranslationDistance(markers[static_cast<size_t>(iterations)].pose, result), 1e-6);
  EXPECT_GT(fakes_.output.Of<PointCloud2>(Topic::kVoxelScorePoints).front().width, 900u);
  EXPECT_EQ(fakes_.output.Count(Topic::kNoGroundTransformProbability), 2u);
  EXPECT_EQ(fakes_.output.Count(Topic::kNoGroundNearestVoxelTransformationLikelihood), 2u);
  // The main pose and six offsets.
  ASSERT_EQ(fakes_.output.Count(Topic::kMultiNdtPose), 2u);
  const auto multi = fakes_.output.Of<PoseArray>(Topic::kMultiNdtPose).back();
  EXPECT_EQ(multi.poses.size(), 7u);
  EXPECT_EQ(multi.poses[0].translation, result.translation);
  EXPECT_EQ(fakes_.output.Of<PoseArray>(Topic::kMultiInitialPose).back().poses.size(), 7u);
}

TEST_F(BridgeTest, ALowScoreIsNotPublishedButBroadcastAsAutowareDoes) {
  parameters_.score_estimation.converged_param_nearest_voxel_transformation_likelihood = 100.0;
  StartActive();
  const DiagnosticStatus status = Drive(0);
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_EQ(ValueOf(status, "skipping_publish_num"), "1");
  EXPECT_EQ(fakes_.output.Count(Topic::kNdtPose), 0u);
  EXPECT_EQ(fakes_.output.Count(Topic::kTransformProbability), 1u);
  EXPECT_EQ(fakes_.output.transforms().size(), 1u);
}

TEST_F(BridgeTest, MapToOdomStaysRightHoweverLateItComes) {
  parameters_.voxloc.tf_output = "odom";
  parameters_.voxloc.odom_frame = "odom";
  parameters_.voxloc.tf_tolerance_sec = 0.5;
  const Pose odom_T_base{{-7.0, 3.0, 0.2}, RotationFromRosAngles(0.0, 0.0, 2.0)};
  fakes_.transforms.Set("odom", "base_link", odom_T_base);
  StartActive();
  EXPECT_EQ(Drive(0).level, DiagnosticStatus::kOk);
  const auto transforms = fakes_.output.transforms();
  ASSERT_EQ(transforms.size(), 1u);
  EXPECT_EQ(transforms[0].child_frame_id, "odom");
  EXPECT_EQ(transforms[0].header.stamp_ns, StampAt(0) + 5 * kPeriodNs);
  const Pose result = fakes_.output.Of<PoseStamped>(Topic::kNdtPose).back().pose;
  EXPECT_LT(TranslationDistance(transforms[0].parent_T_child * odom_T_base, result), 1e-9);
}

TEST_F(BridgeTest, WithoutAFilterThePoseThatAPersonGivesAndTheOdometrySuffice) {
  parameters_.voxloc.guess_source = "odometry";
  parameters_.voxloc.odom_frame = "odom";
  StartActive();
  const auto set_odometry = [this](int i) {
    // The odometry is right but for where it began.
    const Pose odom_T_map{{20.0, -3.0, 0.0}, RotationFromRosAngles(0.0, 0.0, -1.0)};
    fakes_.transforms.Set("odom", "base_link", odom_T_map * TruthAt(i));
  };
  set_odometry(0);
  SendScan(0);
  ASSERT_TRUE(AwaitStatuses(1));
  EXPECT_EQ(fakes_.output.Count(Topic::kNdtPose), 0u) << "nobody knows where it is";
  PoseWithCovarianceStamped given;
  given.header.frame_id = "map";
  given.pose = TruthAt(0);
  given.pose.translation.x() += 0.3;
  bridge().OnUserPose(given);
  for (int i = 1; i <= 3; ++i) {
    set_odometry(i);
    SendScan(i);
    ASSERT_TRUE(AwaitStatuses(static_cast<size_t>(i) + 1));
    const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
    ASSERT_EQ(poses.size(), static_cast<size_t>(i)) << ScanStatuses().back().message;
    EXPECT_LT(TranslationDistance(poses.back().pose, TruthAt(i)), 0.05);
  }
}

TEST_F(BridgeTest, StampsFarFromTheClockWarnAndTheScanIsAligned) {
  StartActive();
  SendPosesAround(0);
  TestCloud cloud = MessageOf(ScanAt(0));
  cloud.header = {StampAt(0), "base_link"};
  size_t count = 0;
  for (const int64_t offset_ns : {20 * kPeriodNs, -20 * kPeriodNs}) {
    fakes_.clock.now_ns = StampAt(0) + offset_ns;
    bridge().OnPoints(cloud.View());
    ASSERT_TRUE(AwaitStatuses(++count));
    EXPECT_EQ(ScanStatuses().back().level, DiagnosticStatus::kWarn);
    EXPECT_EQ(fakes_.output.Count(Topic::kNdtPose), count) << ScanStatuses().back().message;
  }
  EXPECT_THAT(ScanStatuses()[0].message, HasSubstr("1 s old (got 2 s)"));
  EXPECT_THAT(ScanStatuses()[1].message, HasSubstr("in the future"));
}

TEST_F(BridgeTest, PosesInAnotherFrameAreRefused) {
  StartActive();
  PoseWithCovarianceStamped pose;
  pose.header = {5, "odom"};
  bridge().OnInitialPose(pose);
  pose.header.frame_id = "map";
  pose.pose.rotation.coeffs().setZero();
  bridge().OnInitialPose(pose);
  ASSERT_TRUE(Eventually(
      [this] { return fakes_.output.Statuses("initial_pose_subscriber_status").size() == 2; }));
  const auto statuses = fakes_.output.Statuses("initial_pose_subscriber_status");
  EXPECT_EQ(statuses[0].level, DiagnosticStatus::kError);
  EXPECT_EQ(ValueOf(statuses[0], "is_expected_frame_id"), "False");
  EXPECT_THAT(statuses[0].message, HasSubstr("'odom'"));
  EXPECT_EQ(statuses[1].level, DiagnosticStatus::kError) << "not a rotation";
  SendScan(0);
  ASSERT_TRUE(AwaitStatuses(1));
  EXPECT_EQ(ValueOf(ScanStatuses().back(), "is_succeed_interpolate_initial_pose"), "False");
}

TEST_F(BridgeTest, TheTimerReportsTheMapAndTheServer) {
  parameters_.ndt.resolution = 1.0;
  StartActive();
  bridge().OnTimer();
  SendPosesAround(0);
  bridge().OnTimer();
  bridge().OnTimer();
  ASSERT_TRUE(
      Eventually([this] { return fakes_.output.Statuses("map_update_status").size() == 3; }));
  const auto map = fakes_.output.Statuses("map_update_status");
  EXPECT_EQ(map[0].level, DiagnosticStatus::kWarn) << "no pose has come";
  EXPECT_THAT(KeysOf(map[2]), ElementsAre("timer_callback_time_stamp", "is_activated",
                                          "is_set_last_update_position",
                                          "distance_last_update_position_to_current_position"));
  EXPECT_EQ(map[2].level, DiagnosticStatus::kOk);
  const auto server = fakes_.output.Statuses("server_connection_status").back();
  EXPECT_EQ(ValueOf(server, "is_connected"), "True");
  EXPECT_EQ(ValueOf(server, "map"), "town");
  EXPECT_EQ(ValueOf(server, "cell_size"), "2.000000");
  EXPECT_THAT(server.message, AllOf(HasSubstr("2 m"), HasSubstr("ndt.resolution is 1 m")));
}

// With a server that the test starts itself.
class BridgeAndServerTest : public BridgeFixture {
 protected:
  void SetUp() override { parameters_.voxloc.activate_at_start = true; }
  void TearDown() override { bridge_.reset(); }
};

TEST_F(BridgeAndServerTest, RecoversByItselfFromAServerThatIsAbsentAndOneThatRestarts) {
  auto server = std::make_unique<TestServer>();
  const std::string address = server->server().address();
  server.reset();  // a port where nobody listens
  StartBridge(address);
  EXPECT_NE(Drive(0).level, DiagnosticStatus::kOk);
  bridge().OnTimer();
  ASSERT_TRUE(
      Eventually([this] { return !fakes_.output.Statuses("server_connection_status").empty(); }));
  const auto state = fakes_.output.Statuses("server_connection_status").back();
  EXPECT_EQ(state.level, DiagnosticStatus::kError);
  EXPECT_EQ(ValueOf(state, "is_connected"), "False");
  const auto start = [&address] {
    auto fresh = std::make_unique<TestServer>(
        [&address](server::Config& config) { config.listen = address; });
    fresh->LoadTown();
    return fresh;
  };
  for (int round = 0; round < 2; ++round) {
    server = start();
    ASSERT_TRUE(AwaitConnection());
    // The scan's own poses are all that the new session has.
    EXPECT_EQ(Drive(1 + 2 * round).level, DiagnosticStatus::kOk);
    server.reset();
    ASSERT_TRUE(Eventually([this] { return !bridge_->server().connection.ok(); }));
    SendPosesAround(2 + 2 * round);
    SendScan(2 + 2 * round);
  }
  server = start();
  ASSERT_TRUE(AwaitConnection());
  EXPECT_EQ(Drive(5).level, DiagnosticStatus::kOk);
  // Each scan has one status, those sent into the void too.
  ASSERT_TRUE(AwaitStatuses(6));
  EXPECT_EQ(ScanStatuses().size(), 6u);
  const BridgeCounters counters = bridge().counters();
  EXPECT_EQ(counters.received, 6u);
  EXPECT_EQ(counters.received, counters.refused + counters.sent);
  EXPECT_EQ(counters.outcomes, counters.sent);
  EXPECT_GE(bridge().server().sessions, 3u);
}

TEST_F(BridgeAndServerTest, TheNewestScanWinsAndEachHasOneOutcome) {
  const auto gate = std::make_shared<Gate>();
  TestServer server({}, std::make_unique<server::GatedEngine>(gate));
  server.LoadTown();
  StartBridge(server.server().address());
  ASSERT_TRUE(AwaitConnection());
  gate->Close();
  constexpr int kScans = 8;
  SendPosesAround(0);
  SendScan(0);
  gate->AwaitBatches(1);
  for (int i = 1; i < kScans; ++i) {
    SendPosesAround(i);
    SendScan(i);
  }
  // All but the one at the gate and the newest.
  EXPECT_TRUE(AwaitStatuses(kScans - 2));
  gate->Open();
  ASSERT_TRUE(AwaitStatuses(kScans));
  EXPECT_EQ(ScanStatuses().size(), static_cast<size_t>(kScans));
  const auto poses = fakes_.output.Of<PoseStamped>(Topic::kNdtPose);
  ASSERT_EQ(poses.size(), 2u);
  EXPECT_EQ(poses[0].header.stamp_ns, StampAt(0));
  EXPECT_EQ(poses[1].header.stamp_ns, StampAt(kScans - 1));
  int superseded = 0;
  for (const DiagnosticStatus& status : ScanStatuses()) {
    if (status.message.find("SUPERSEDED") != std::string::npos) ++superseded;
  }
  EXPECT_EQ(superseded, kScans - 2);
  bridge_.reset();
}

}  // namespace
}  // namespace voxloc::ros
