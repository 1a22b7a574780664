// SPDX-License-Identifier: Apache-2.0
//
// A drive of 300 scans through the bridge on the wire: what arrives at the peer is complete, and
// the same to the bit as what voxloc replay gets for the same scans and guesses.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

// What voxloc replay says of each scan, by its stamp.
using ReplayRows = std::map<int64_t, nlohmann::json>;

std::vector<double> Numbers(const Pose& pose) {
  const Eigen::Vector3d& t = pose.translation;
  const Eigen::Quaterniond& q = pose.rotation;
  return {t.x(), t.y(), t.z(), q.x(), q.y(), q.z(), q.w()};
}

template <typename Stamped>
std::vector<int64_t> StampsOf(const std::vector<Stamped>& values) {
  std::vector<int64_t> stamps;
  for (const Stamped& value : values) stamps.push_back(value.stamp_ns);
  return stamps;
}

std::vector<std::string> KeysOf(const Diagnostic& diagnostic) {
  std::vector<std::string> keys;
  for (const auto& value : diagnostic.values) keys.push_back(value.first);
  return keys;
}

class DriveOnTheWire : public BridgeTest {
 protected:
  // The drive through voxloc replay, with the options that the bridge has by default.
  static void Replay(ReplayRows* rows) {
    const ScratchDir scratch;
    const std::string out = scratch.Path("replay.json");
    const ProcessResult replayed = shared_server().Voxloc(
        {"replay", "--map", "town", "--scans", drive().scans.string(), "--poses",
         drive().poses.string(), "--guesses", drive().guesses.string(), "--pose-format", "tum",
         "--profile", "autoware", "--session-poses", "--json", out});
    ASSERT_EQ(replayed.exit_code, 0) << replayed.error;
    const nlohmann::json report = JsonIn(out);
    ASSERT_TRUE(report.contains("results"));
    for (const nlohmann::json& row : report["results"]) (*rows)[row["stamp_ns"]] = row;
    ASSERT_EQ(rows->size(), static_cast<size_t>(kDriveScans));
  }
};

TEST_F(DriveOnTheWire, EachScanHasThePoseOfReplayToTheBit) {
  ReplayRows replayed;
  ASSERT_NO_FATAL_FAILURE(Replay(&replayed));
  ASSERT_NO_FATAL_FAILURE(Start(Defaults(), true));
  ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
  const std::optional<TriggerAnswer> activated = peer().CallTrigger(true, kTestTimeout);
  ASSERT_TRUE(activated.has_value() && activated->success);

  std::vector<int64_t> accepted;  // by their status
  std::vector<StampedPose> with_covariance;
  std::vector<StampedTransform> transforms;
  std::map<std::string, std::vector<StampedNumber>> numbers = {
      {"iteration_num", {}},
      {"nearest_voxel_transformation_likelihood", {}},
      {"transform_probability", {}},
      {"exe_time_ms", {}},
      {"initial_to_result_distance", {}}};
  // Takes what has arrived; whether that is everything of so many scans.
  const auto has_all_of = [&](size_t scans) {
    for (StampedPose& pose : peer().TakePosesWithCovariance()) with_covariance.push_back(pose);
    for (StampedTransform& transform : peer().TakeTransforms()) {
      if (transform.child_frame_id == "ndt_base_link") transforms.push_back(transform);
    }
    bool complete = with_covariance.size() >= accepted.size() && transforms.size() >= scans;
    for (auto& [topic, received] : numbers) {
      for (const StampedNumber& number : peer().TakeNumbers(topic)) received.push_back(number);
      complete = complete && received.size() >= scans;
    }
    return complete;
  };
  for (size_t i = 0; i < drive().clouds.size(); ++i) {
    const std::optional<Diagnostic> status = SendScan(i);
    ASSERT_TRUE(status.has_value()) << "scan " << i << " has no status";
    const int64_t stamp_ns = drive().truth[i].stamp_ns;
    EXPECT_EQ(status->Find("topic_time_stamp"), absl::StrCat(stamp_ns));
    if (replayed.at(stamp_ns)["accepted"] == true) accepted.push_back(stamp_ns);
    // DDS keeps the last ten messages of a topic for a reader that lags.
    ASSERT_TRUE(Eventually([&] { return has_all_of(i + 1); })) << "scan " << i;
  }
  EXPECT_EQ(peer().scan_statuses_received(), static_cast<size_t>(kDriveScans));
  // A town is easy: the test would prove little if most scans were refused.
  ASSERT_GT(accepted.size(), static_cast<size_t>(kDriveScans * 9 / 10));

  const std::vector<StampedPose> poses = AwaitPoses(accepted.size());
  EXPECT_EQ(StampsOf(poses), accepted);
  for (const StampedPose& pose : poses) {
    EXPECT_EQ(pose.frame_id, "map");
    EXPECT_EQ(Numbers(pose.frame_T_base),
              replayed.at(pose.stamp_ns)["pose"].get<std::vector<double>>())
        << "scan of " << pose.stamp_ns;
  }
  EXPECT_EQ(StampsOf(with_covariance), accepted);
  for (const StampedPose& pose : with_covariance) {
    EXPECT_EQ(Numbers(pose.frame_T_base),
              replayed.at(pose.stamp_ns)["pose"].get<std::vector<double>>());
    const auto expected = replayed.at(pose.stamp_ns)["covariance"].get<std::vector<double>>();
    EXPECT_THAT(pose.covariance, testing::ElementsAreArray(expected));
  }
  // The transform is broadcast for every scan that was aligned, the numbers too.
  EXPECT_EQ(transforms.size(), static_cast<size_t>(kDriveScans));
  for (const StampedTransform& transform : transforms) {
    EXPECT_EQ(transform.frame_id, "map");
    EXPECT_EQ(Numbers(transform.frame_T_child),
              replayed.at(transform.stamp_ns)["pose"].get<std::vector<double>>());
  }
  for (const StampedNumber& iterations : numbers["iteration_num"]) {
    EXPECT_EQ(iterations.value, replayed.at(iterations.stamp_ns)["iterations"].get<double>());
  }
  for (const StampedNumber& nvtl : numbers["nearest_voxel_transformation_likelihood"]) {
    EXPECT_FLOAT_EQ(static_cast<float>(nvtl.value),
                    replayed.at(nvtl.stamp_ns)["scores"]["nvtl"].get<float>());
  }
  for (const StampedNumber& score : numbers["transform_probability"]) {
    EXPECT_FLOAT_EQ(static_cast<float>(score.value),
                    replayed.at(score.stamp_ns)["scores"]["transform_probability"].get<float>());
  }
  for (const StampedNumber& time : numbers["exe_time_ms"]) EXPECT_GT(time.value, 0.0);
  for (const StampedNumber& moved : numbers["initial_to_result_distance"]) {
    const auto index =
        static_cast<size_t>((moved.stamp_ns - drive().truth[0].stamp_ns) / 100'000'000);
    EXPECT_NEAR(moved.value, 0.32, 0.15) << "scan " << index;  // |(0.25, -0.2, 0.05)|
  }
}

// Autoware's keys, and their order (../../docs/ros.md lists them).
TEST_F(DriveOnTheWire, DiagnosticsHaveAutowaresKeys) {
  ros::Parameters parameters = Defaults();
  parameters.ndt.regularization_enable = true;
  ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
  ASSERT_NO_FATAL_FAILURE(SetTime(drive().truth.front().stamp_ns));
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  StampedPose gnss;
  gnss.frame_id = "map";
  gnss.frame_T_base = drive().truth.front().pose;
  gnss.stamp_ns = drive().truth.front().stamp_ns;
  peer().PublishGnssPose(gnss);
  std::optional<Diagnostic> scan;
  for (size_t i = 0; i < 15; ++i) {  // more than a second, so that the timer runs too
    scan = SendScan(i);
    ASSERT_TRUE(scan.has_value());
  }
  EXPECT_EQ(scan->level, kLevelOk) << scan->message;
  EXPECT_EQ(scan->message, "OK");
  EXPECT_EQ(scan->hardware_id, "ndt_scan_matcher");
  EXPECT_THAT(
      KeysOf(*scan),
      ElementsAre("topic_time_stamp", "sensor_points_size", "sensor_points_delay_time_sec",
                  "is_succeed_transform_sensor_points", "sensor_points_max_distance",
                  "is_activated", "is_succeed_interpolate_initial_pose", "is_set_map_points",
                  "iteration_num", "local_optimal_solution_oscillation_num",
                  "transform_probability", "nearest_voxel_transformation_likelihood",
                  "transform_probability_diff", "transform_probability_before",
                  "nearest_voxel_transformation_likelihood_diff",
                  "nearest_voxel_transformation_likelihood_before", "distance_initial_to_result",
                  "execution_time", "skipping_publish_num"));
  EXPECT_EQ(scan->Find("is_activated"), "True");
  EXPECT_EQ(scan->Find("sensor_points_size"), absl::StrCat(drive().clouds[14].size()));

  const auto keys_of = [&](const std::string& group) {
    std::optional<Diagnostic> status;
    EXPECT_TRUE(Eventually([&] { return (status = Newest(group)).has_value(); })) << group;
    return status.has_value() ? KeysOf(*status) : std::vector<std::string>();
  };
  EXPECT_THAT(keys_of("initial_pose_subscriber_status"),
              ElementsAre("topic_time_stamp", "is_activated", "is_expected_frame_id"));
  EXPECT_THAT(keys_of("regularization_pose_subscriber_status"), ElementsAre("topic_time_stamp"));
  EXPECT_THAT(keys_of("trigger_node_service_status"),
              ElementsAre("service_call_time_stamp", "is_activated", "is_succeed_service"));
  const std::vector<std::string> map_update = keys_of("map_update_status");
  for (const char* key :
       {"timer_callback_time_stamp", "is_activated", "is_set_last_update_position"}) {
    EXPECT_THAT(map_update, testing::Contains(key));
  }
  EXPECT_FALSE(keys_of(kServerStatus).empty());
}

// In a process of its own, as with a node of ROS.
TEST_F(DriveOnTheWire, TheProgramOfThePeerPlaysADrive) {
  ASSERT_NO_FATAL_FAILURE(StartBridge(Defaults(), false));
  const ProcessResult played =
      RunProcess({"/usr/bin/env", absl::StrCat("ROS_DOMAIN_ID=", domain().id()),
                  "CYCLONEDDS_URI=" + domain().Settings(), VOXLOC_ROS_PEER, "--scans",
                  drive().scans.string(), "--poses", drive().poses.string(), "--guesses",
                  drive().guesses.string(), "--rate", "0", "--max-scans", "30", "--align"});
  ASSERT_EQ(played.exit_code, 0) << played.error << played.out;
  const nlohmann::json report = nlohmann::json::parse(played.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << played.out;
  EXPECT_EQ(report["align"]["success"], true);
  EXPECT_EQ(report["trigger"]["success"], true);
  EXPECT_EQ(report["scans"], 31);  // one before the search
  EXPECT_EQ(report["statuses"], 31);
  EXPECT_EQ(report["poses"], 30) << played.out;
  EXPECT_LT(report["error_m"]["max"], 0.15);
}

// A deactivated node, and one without a pose.
TEST_F(DriveOnTheWire, ScansAreRefusedWhileInactiveOrWithoutAPose) {
  ASSERT_NO_FATAL_FAILURE(Start(Defaults(), true));
  std::optional<Diagnostic> status = SendScan(0);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelWarn);
  EXPECT_EQ(status->Find("is_activated"), "False");

  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  const int64_t stamp_ns = drive().truth[1].stamp_ns;
  ASSERT_NO_FATAL_FAILURE(SetTime(stamp_ns));
  status = SendCloud(XyzCloud(drive().clouds[1], stamp_ns, kBaseFrame));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelWarn);
  EXPECT_EQ(status->Find("is_succeed_interpolate_initial_pose"), "False");

  GivePose(drive().guessed[1].stamp_ns, drive().guessed[1].pose);
  status = SendScan(2);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->level, kLevelOk) << status->message;
  EXPECT_EQ(StampsOf(AwaitPoses(1)), std::vector<int64_t>{drive().truth[2].stamp_ns});

  ASSERT_TRUE(peer().CallTrigger(false, kTestTimeout).has_value());
  status = SendScan(3);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->Find("is_activated"), "False");
  EXPECT_EQ(peer().poses_received(), 1U);
}

}  // namespace
}  // namespace voxloc::ros_wire
