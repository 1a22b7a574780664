// SPDX-License-Identifier: Apache-2.0
//
// What scans may bring besides their points: poses, odometry, several clouds, times, ages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "core/geometry/twist.h"
#include "server/convert/pose.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNanosPerSecond = 1'000'000'000;

Pose Decoded(const v1::Pose& proto) {
  auto pose = PoseFromProto(proto, "pose");
  EXPECT_TRUE(pose.ok()) << pose.status();
  return pose.ok() ? *pose : Pose{};
}

Pose AnswerOf(const v1::AlignmentResult& result) { return Decoded(result.map_t_base().pose()); }

// In a frame of its own, far from the map's.
Pose OdometryPose() { return {{-700.0, 31.0, 4.0}, RotationFromRosAngles(0.01, -0.02, 2.1)}; }

void AddPoseTo(int64_t stamp_ns, const Pose& map_T_base, v1::Scan& scan) {
  v1::PoseSample& sample = *scan.add_poses();
  sample.set_stamp_ns(stamp_ns);
  *sample.mutable_map_t_base()->mutable_pose() = PoseOf(map_T_base);
}

void SetTwist(const Twist& twist, v1::Scan& scan) {
  VectorToProto(twist.linear_m_s, *scan.mutable_base_twist()->mutable_linear());
  VectorToProto(twist.angular_rad_s, *scan.mutable_base_twist()->mutable_angular());
}

class ScanInputs : public EngineTest {
 protected:
  v1::AlignmentResult Align(const v1::OpenSession& open, const v1::Scan& scan) {
    TestSession session(server_, open);
    return session.Align(scan);
  }
  v1::AlignmentResult Align(const v1::Scan& scan) { return Align(TownSession(), scan); }

  // Of the same scan by a vehicle that stands.
  Pose StillAnswer() { return AnswerOf(Align(GoodScan())); }

  TownServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(ScanInputs);

TEST_P(ScanInputs, PosesOfAScanAreThoseOfTheSession) {
  v1::Scan scan = GoodScan();
  scan.set_stamp_ns(5 * kNanosPerSecond);
  scan.clear_guess_map_t_base();
  AddPoseTo(5 * kNanosPerSecond - kNanosPerSecond / 50, VehiclePose(), scan);
  AddPoseTo(5 * kNanosPerSecond + kNanosPerSecond / 50, VehiclePose(), scan);
  const v1::AlignmentResult result = Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  EXPECT_LT(TranslationDistance(Decoded(result.guess_map_t_base()), VehiclePose()), 1e-9);

  v1::AlignmentResult alone;
  EXPECT_TRUE(AlignInTown(server_, scan, alone).ok());
  EXPECT_EQ(alone.status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(ScanInputs, AMalformedPoseOfAScanIsRejectedAndTheScanAnswered) {
  TestSession session(server_, TownSession());
  v1::Scan scan = GoodScan();
  AddPoseTo(7, VehiclePose(), scan);
  scan.mutable_poses(0)->mutable_map_t_base()->mutable_pose()->clear_orientation();
  session.Send(scan);
  const v1::AlignScansResponse first = session.Read();
  ASSERT_TRUE(first.has_rejected()) << first.ShortDebugString();
  EXPECT_EQ(first.rejected().kind(), v1::SESSION_REQUEST_KIND_POSE);
  EXPECT_EQ(first.rejected().stamp_ns(), 7);
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(ScanInputs, OdometryMakesTheAnswerValidWhenItIsLate) {
  v1::Scan scan = GoodScan();
  *scan.mutable_odom_t_base() = PoseOf(OdometryPose());
  const v1::AlignmentResult result = Align(scan);
  ASSERT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  const Pose map_T_base = AnswerOf(result);
  const Pose again = Decoded(result.map_t_odom()) * OdometryPose();
  EXPECT_LT(TranslationDistance(again, map_T_base), 1e-9);
  EXPECT_LT(RotationDistance(again, map_T_base), 1e-9);
  EXPECT_FALSE(Align(GoodScan()).has_map_t_odom());
}

TEST_P(ScanInputs, WithoutPosesTheLastAnswerIsCarriedOnByTheOdometry) {
  TestSession session(server_, TownSession());
  v1::Scan scan = GoodScan();
  scan.clear_guess_map_t_base();
  *scan.mutable_odom_t_base() = PoseOf(OdometryPose());
  const v1::AlignmentResult unknown = session.Align(scan);
  EXPECT_EQ(unknown.status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
  EXPECT_THAT(unknown.detail(), AllOf(HasSubstr("no pose of the vehicle is known"),
                                      HasSubstr("guess_map_t_base of a scan, or initialpose")));
  scan = GoodScan(2);
  *scan.mutable_odom_t_base() = PoseOf(OdometryPose());
  const v1::AlignmentResult given = session.Align(scan);
  ASSERT_EQ(given.status(), v1::ALIGNMENT_STATUS_OK);

  const Pose moved{{0.8, 0.1, 0.0}, RotationFromRosAngles(0.0, 0.0, 0.05)};
  scan = GoodScan(3);
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(ScanFrom(VehiclePose() * moved));
  scan.clear_guess_map_t_base();
  *scan.mutable_odom_t_base() = PoseOf(OdometryPose() * moved);
  const v1::AlignmentResult carried = session.Align(scan);
  ASSERT_EQ(carried.status(), v1::ALIGNMENT_STATUS_OK) << carried.ShortDebugString();
  const Pose guess = Decoded(carried.guess_map_t_base());
  EXPECT_LT(TranslationDistance(guess, AnswerOf(given) * moved), 1e-9);
  EXPECT_LT(TranslationDistance(AnswerOf(carried), VehiclePose() * moved), 0.05);
  scan.clear_odom_t_base();
  scan.set_sequence(4);
  EXPECT_THAT(session.Align(scan).detail(), HasSubstr("the scan must have odom_t_base"));
}

TEST_P(ScanInputs, AScanOfSeveralSensorsIsOneInTheBaseFrame) {
  const PointCloud points = ScanFrom(VehiclePose());
  const Pose front{{1.5, 0.2, 0.4}, RotationFromRosAngles(0.0, 0.1, 0.3)};
  const Pose back{{-2.0, 0.0, 1.0}, RotationFromRosAngles(0.05, 0.0, 3.0)};
  PointCloud ahead;
  PointCloud behind;
  for (size_t i = 0; i < points.size(); ++i) {
    (points.x[i] > 0.0F ? ahead : behind).PushBack(points.x[i], points.y[i], points.z[i]);
  }
  v1::Scan scan = GoodScan();
  scan.clear_clouds();
  for (const auto& [cloud, mount] : {std::pair(ahead, front), std::pair(behind, back)}) {
    v1::SensorCloud& sensor = *scan.add_clouds();
    *sensor.mutable_cloud() = CloudOf(Transform(mount.Inverse(), cloud));
    *sensor.mutable_base_t_sensor() = PoseOf(mount);
  }
  const v1::AlignmentResult one = Align(GoodScan());
  const v1::AlignmentResult both = Align(scan);
  ASSERT_EQ(both.status(), v1::ALIGNMENT_STATUS_OK) << both.ShortDebugString();
  EXPECT_EQ(both.points().received(), one.points().received());
  EXPECT_EQ(both.points().used(), one.points().used());
  EXPECT_LT(TranslationDistance(AnswerOf(both), AnswerOf(one)), 1e-3);
}

TEST_P(ScanInputs, SaysWhichCloudIsMalformed) {
  v1::Scan scan = GoodScan();
  *scan.add_clouds() = scan.clouds(0);
  scan.mutable_clouds(1)->mutable_cloud()->set_stride(4);
  EXPECT_THAT(Align(scan).detail(), HasSubstr("clouds[1]: cloud.stride"));
  scan = GoodScan();
  *scan.add_clouds() = scan.clouds(0);
  scan.mutable_clouds(1)->set_stamp_ns(scan.stamp_ns() + 2 * kNanosPerSecond);
  EXPECT_THAT(Align(scan).detail(), HasSubstr("at most 1 s from the scan's stamp"));
  while (scan.clouds_size() < 17) *scan.add_clouds() = scan.clouds(0);
  EXPECT_THAT(Align(scan).detail(), HasSubstr("at most 16 clouds (got 17)"));
}

// A scan that took a tenth of a second while the vehicle drove and turned.
TEST_P(ScanInputs, PointsWithTimesAreMovedToTheScansStamp) {
  const Twist twist{{15.0, 0.0, 0.0}, {0.0, 0.0, 0.6}};
  const PointCloud still = ScanFrom(VehiclePose());
  std::string data;
  for (size_t i = 0; i < still.size(); ++i) {
    const float time_s = -0.1F + 0.1F * static_cast<float>(i) / static_cast<float>(still.size());
    const Eigen::Vector3f seen =
        (IntegrateTwist(twist, time_s).Inverse() * still.Point(i)).cast<float>();
    const float record[4] = {seen.x(), seen.y(), seen.z(), time_s};
    data.append(reinterpret_cast<const char*>(record), sizeof(record));
  }
  v1::Scan scan = GoodScan();
  v1::Cloud& cloud = *scan.mutable_clouds(0)->mutable_cloud();
  cloud.Clear();
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZT);
  cloud.set_data(data);

  const v1::AlignmentResult skewed = Align(scan);
  EXPECT_FALSE(skewed.points().deskewed());
  SetTwist(twist, scan);
  const v1::AlignmentResult moved = Align(scan);
  ASSERT_EQ(moved.status(), v1::ALIGNMENT_STATUS_OK) << moved.ShortDebugString();
  EXPECT_TRUE(moved.points().deskewed());
  const auto from_still = [&](const v1::AlignmentResult& result) {
    return TranslationDistance(AnswerOf(result), StillAnswer());
  };
  EXPECT_LT(from_still(moved), 1e-3);
  EXPECT_GT(from_still(skewed), 0.1);

  // The same from the session's poses.
  scan.clear_base_twist();
  scan.clear_guess_map_t_base();
  scan.set_stamp_ns(9 * kNanosPerSecond);
  AddPoseTo(9 * kNanosPerSecond - kNanosPerSecond / 10, VehiclePose() * IntegrateTwist(twist, -0.1),
            scan);
  AddPoseTo(9 * kNanosPerSecond + kNanosPerSecond / 10, VehiclePose() * IntegrateTwist(twist, 0.1),
            scan);
  const v1::AlignmentResult by_poses = Align(scan);
  EXPECT_TRUE(by_poses.points().deskewed());
  EXPECT_LT(from_still(by_poses), 1e-3);
}

TEST_P(ScanInputs, ACloudWithAStampOfItsOwnIsMovedAsAWhole) {
  const Twist twist{{12.0, 1.0, 0.0}, {0.0, 0.0, 0.4}};
  v1::Scan scan = GoodScan();
  scan.set_stamp_ns(3 * kNanosPerSecond);
  *scan.mutable_clouds(0)->mutable_cloud() =
      CloudOf(Transform(IntegrateTwist(twist, -0.2).Inverse(), ScanFrom(VehiclePose())));
  scan.mutable_clouds(0)->set_stamp_ns(3 * kNanosPerSecond - kNanosPerSecond / 5);
  SetTwist(twist, scan);
  const v1::AlignmentResult result = Align(scan);
  EXPECT_TRUE(result.points().deskewed());
  EXPECT_LT(TranslationDistance(AnswerOf(result), StillAnswer()), 1e-3);
}

TEST_P(ScanInputs, DelaysGoByTheClockThatTheSessionNames) {
  v1::OpenSession open = TownSession();
  open.mutable_limits()->set_max_delay_s(0.5);
  // Stamps of a simulation are as good as 1970 to the server.
  EXPECT_EQ(Align(open, GoodScan()).status(), v1::ALIGNMENT_STATUS_STALE);
  v1::Scan scan = GoodScan();
  scan.clear_stamp_ns();
  EXPECT_EQ(Align(open, scan).status(), v1::ALIGNMENT_STATUS_OK);
  open.set_clock(v1::STAMP_CLOCK_OWN);
  EXPECT_EQ(Align(open, GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
  scan.set_age_s(0.6);
  EXPECT_EQ(Align(open, scan).status(), v1::ALIGNMENT_STATUS_STALE);
  scan.set_age_s(-1.0);
  EXPECT_THAT(Align(open, scan).detail(), HasSubstr("age_s"));
}

TEST_P(ScanInputs, AScanThatIsRefusedIsNotDecoded) {
  v1::Scan scan = GoodScan();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf({nan, nan, nan});
  v1::OpenSession open = TownSession();
  EXPECT_EQ(Align(open, scan).status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  open.set_start_inactive(true);
  EXPECT_EQ(Align(open, scan).status(), v1::ALIGNMENT_STATUS_NOT_ACTIVE);
  open.set_start_inactive(false);
  open.mutable_limits()->set_max_delay_s(0.5);
  EXPECT_EQ(Align(open, scan).status(), v1::ALIGNMENT_STATUS_STALE);
}

TEST_P(ScanInputs, ConfigureKeepsMapAndVehicle) {
  TestSession session(server_, TownSession());
  v1::AlignScansRequest request;
  request.mutable_configure()->mutable_setup()->set_map("yard");
  session.Send(request);
  const v1::AlignScansResponse response = session.Read();
  ASSERT_TRUE(response.has_rejected());
  EXPECT_THAT(response.rejected().detail(), HasSubstr("must be unset"));
}

}  // namespace
}  // namespace voxloc::server
