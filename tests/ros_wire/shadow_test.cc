// SPDX-License-Identifier: Apache-2.0
//
// Shadow mode on the wire: the peer is the vehicle with its localizer, and the bridge runs beside.

#include <gmock/gmock.h>

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/topics.h"
#include "core/geometry/euler.h"
#include "tests/ros_wire/bridge_test.h"

namespace voxloc::ros_wire {
namespace {

constexpr char kShadowStatus[] = "shadow_status";
constexpr int64_t kHalfPeriod_ns = 50'000'000;

class ShadowOnTheWire : public BridgeTest {
 protected:
  void StartShadow() {
    ros::Parameters parameters = Defaults();
    parameters.voxloc.shadow = true;
    ASSERT_NO_FATAL_FAILURE(Start(parameters, true));
    ASSERT_NO_FATAL_FAILURE(SetTime(StampOf(0)));
  }

  [[nodiscard]] static int64_t StampOf(size_t index) { return drive().truth.at(index).stamp_ns; }

  // Voxloc's pose of a scan, which is accepted.
  [[nodiscard]] Pose PoseOf(size_t index) {
    const std::optional<Diagnostic> status = SendScan(index);
    EXPECT_EQ(status.value_or(Diagnostic()).level, kLevelOk) << "scan " << index;
    const std::vector<StampedPose> poses = AwaitPoses(++accepted_);
    if (poses.empty()) {
      ADD_FAILURE() << "scan " << index << " has no pose";
      return Pose();
    }
    EXPECT_EQ(poses.back().stamp_ns, StampOf(index));
    return poses.back().frame_T_base;
  }

  void GiveIncumbentPose(int64_t stamp_ns, const Pose& map_T_base) {
    StampedPose pose;
    pose.stamp_ns = stamp_ns;
    pose.frame_id = "map";
    pose.frame_T_base = map_T_base;
    peer().PublishIncumbentPose(pose);
  }

  // The shadow_status of a scan.
  [[nodiscard]] Diagnostic StatusOf(size_t index) {
    std::optional<Diagnostic> status;
    EXPECT_TRUE(Eventually([&] {
      status = Newest(kShadowStatus);
      return status.has_value() && status->Find("topic_time_stamp") == absl::StrCat(StampOf(index));
    })) << "scan "
        << index;
    return status.value_or(Diagnostic());
  }

  static void ExpectNumber(const Diagnostic& status, const char* key, double expected) {
    const std::optional<std::string> text = status.Find(key);
    ASSERT_TRUE(text.has_value()) << key;
    EXPECT_NEAR(std::stod(*text), expected, 2e-6) << key;  // six digits are written
  }
  static void ExpectCounts(const Diagnostic& status, int compared, int voxloc, int incumbent) {
    EXPECT_EQ(status.Find("compared"), absl::StrCat(compared));
    EXPECT_EQ(status.Find("only_voxloc"), absl::StrCat(voxloc));
    EXPECT_EQ(status.Find("only_incumbent"), absl::StrCat(incumbent));
  }

 private:
  size_t accepted_ = 0;
};

TEST_F(ShadowOnTheWire, NothingIsOfferedUnderTheNamesOfTheIncumbent) {
  ASSERT_NO_FATAL_FAILURE(StartShadow());
  const std::set<std::string> offered = peer().TopicsOfOthers();
  for (const std::string& name : offered) {
    // rq/: requests to services of others.
    EXPECT_TRUE(name == "rt/diagnostics" || absl::StartsWith(name, "rt/shadow/") ||
                absl::StartsWith(name, "rr/shadow/") || absl::StartsWith(name, "rq/"))
        << name;
  }
  for (const ros::TopicInfo& info : ros::PublishedTopics()) {
    EXPECT_EQ(offered.count(absl::StrCat("rt/shadow/", info.name)), 1U) << info.name;
  }
  EXPECT_EQ(offered.count("rr/shadow/ndt_align_srvReply"), 1U);
  EXPECT_EQ(offered.count("rr/shadow/trigger_node_srvReply"), 1U);
}

// No service is called: the node is active, and takes its guesses from the vehicle's filter.
TEST_F(ShadowOnTheWire, DifferencesArriveWithTheRightNumbers) {
  ASSERT_NO_FATAL_FAILURE(StartShadow());
  // The incumbent's pose, before voxloc's is known: no difference yet.
  GiveIncumbentPose(StampOf(0), drive().truth[0].pose);
  const Pose first = PoseOf(0);
  Diagnostic status = StatusOf(0);
  EXPECT_EQ(status.name, "voxloc_shadow: shadow_status");
  const Eigen::Matrix4d expected =
      drive().truth[0].pose.Matrix().inverse() * first.Matrix();  // not by Pose's arithmetic
  ExpectNumber(status, "difference_x", expected(0, 3));
  ExpectNumber(status, "difference_y", expected(1, 3));
  ExpectNumber(status, "difference_z", expected(2, 3));
  ExpectCounts(status, 1, 0, 0);

  // voxloc is 3 cm ahead of it and 1 cm to its right, and turned by 0.1 degrees to the left.
  const Pose incumbent_T_base{{0.03, -0.01, 0.005},
                              RotationFromRosAngles(0.0, 0.0, 0.1 * kRadiansPerDegree)};
  GiveIncumbentPose(StampOf(1), PoseOf(1) * incumbent_T_base.Inverse());
  status = StatusOf(1);
  EXPECT_EQ(status.level, kLevelWarn);
  EXPECT_THAT(status.message, testing::HasSubstr("0.02 m"));
  ExpectNumber(status, "difference_x", 0.03);
  ExpectNumber(status, "difference_y", -0.01);
  ExpectNumber(status, "difference_z", 0.005);
  ExpectNumber(status, "difference_roll", 0.0);
  ExpectNumber(status, "difference_pitch", 0.0);
  ExpectNumber(status, "difference_yaw", 0.1);
  ExpectNumber(status, "difference_position", std::sqrt(0.03 * 0.03 + 0.01 * 0.01 + 0.005 * 0.005));
  ExpectNumber(status, "difference_rotation", 0.1);

  GiveIncumbentPose(StampOf(2), PoseOf(2));
  status = StatusOf(2);
  EXPECT_EQ(status.level, kLevelOk) << status.message;
  ExpectCounts(status, 3, 0, 0);

  // The incumbent has no pose for scan 3, and voxloc none for scan 4.
  static_cast<void>(PoseOf(3));
  GiveIncumbentPose(StampOf(4), drive().truth[4].pose);
  status = StatusOf(3);
  EXPECT_EQ(status.level, kLevelWarn);
  ExpectCounts(status, 3, 1, 0);
  ASSERT_TRUE(SendCloud(XyzCloud(PointCloud(), StampOf(4), kBaseFrame)).has_value());
  status = StatusOf(4);
  EXPECT_EQ(status.level, kLevelWarn);
  ExpectCounts(status, 3, 1, 1);

  // Of an incumbent with stamps of its own: a metre to each side of it, the middle is the pose.
  const Pose fifth = PoseOf(5);
  const Pose ahead{{1.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()};
  GiveIncumbentPose(StampOf(5) - kHalfPeriod_ns, fifth * ahead.Inverse());
  GiveIncumbentPose(StampOf(5) + kHalfPeriod_ns, fifth * ahead);
  status = StatusOf(5);
  EXPECT_EQ(status.level, kLevelOk) << status.message;
  ExpectNumber(status, "difference_position", 0.0);
  ExpectCounts(status, 4, 1, 1);

  std::vector<StampedPose> differences;
  ASSERT_TRUE(Eventually([&] {
    for (StampedPose& difference : peer().TakeDifferences()) differences.push_back(difference);
    return differences.size() == 4;
  }));
  EXPECT_EQ(differences[1].stamp_ns, StampOf(1));
  EXPECT_EQ(differences[1].frame_id, kBaseFrame);
  EXPECT_LT(TranslationDistance(differences[1].frame_T_base, incumbent_T_base), 1e-9);
  EXPECT_LT(RotationDistance(differences[1].frame_T_base, incumbent_T_base), 1e-9);
  EXPECT_TRUE(peer().TakeTransforms().empty());
}

}  // namespace
}  // namespace voxloc::ros_wire
