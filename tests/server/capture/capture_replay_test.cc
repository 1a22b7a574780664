// SPDX-License-Identifier: Apache-2.0
//
// A captured scan leads to the same pose to the last bit, wherever its guess and the motion of its
// vehicle came from: the capture's request is sent to the same server by AlignScan.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/estimate/calibration/sensor_calibration.h"
#include "core/geometry/euler.h"
#include "server/convert/pose.h"
#include "tests/server/capture/capture_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kScanNs = kSecondNs / 10;

// A drive that turns, at 3 m/s.
Pose StepOf(int i) {
  return {{0.3 * i, 0.01 * i, 0.002 * i}, RotationFromRosAngles(0.001 * i, -0.002 * i, 0.02 * i)};
}
Pose TruePose(int i) { return VehiclePose() * StepOf(i); }
int64_t StampOf(int i) { return (10 + i) * kScanNs; }

// In a frame of its own, far from the map's.
Pose OdometryAt(int i) {
  const Pose start{{-700.0, 31.0, 4.0}, RotationFromRosAngles(0.01, -0.02, 2.1)};
  return start * StepOf(i);
}

// Without a guess.
v1::Scan ScanAt(int i, const Pose& base_T_sensor = Pose()) {
  v1::Scan scan;
  scan.set_sequence(static_cast<uint64_t>(i));
  scan.set_stamp_ns(StampOf(i));
  *scan.add_clouds()->mutable_cloud() = CloudOf(ScanFrom(TruePose(i) * base_T_sensor, 2000));
  return scan;
}

void SetGuess(int i, v1::Scan& scan) {
  const Pose off{{0.11, -0.07, 0.02}, RotationFromRosAngles(0.002, 0.001, 0.012)};
  *scan.mutable_guess_map_t_base()->mutable_pose() = PoseOf(TruePose(i) * off);
}

v1::Scan GuessedScanAt(int i, const Pose& base_T_sensor = Pose()) {
  v1::Scan scan = ScanAt(i, base_T_sensor);
  SetGuess(i, scan);
  return scan;
}

// Gives each point of the first cloud a time within a tenth of a second.
void SetTimes(v1::Scan& scan) {
  v1::Cloud& cloud = *scan.mutable_clouds(0)->mutable_cloud();
  constexpr size_t kBytes = 3 * sizeof(float);
  const size_t points = cloud.data().size() / kBytes;
  std::string timed;
  for (size_t k = 0; k < points; ++k) {
    const float time_s = 0.1F * static_cast<float>(k) / static_cast<float>(points);
    timed.append(cloud.data(), k * kBytes, kBytes);
    timed.append(reinterpret_cast<const char*>(&time_s), sizeof(time_s));
  }
  cloud.set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZT);
  cloud.set_stride(0);
  cloud.set_data(timed);
}

v1::PoseSample PoseAt(int64_t stamp_ns, const Pose& map_T_base, double variance = 0.0) {
  v1::PoseSample sample;
  sample.set_stamp_ns(stamp_ns);
  *sample.mutable_map_t_base()->mutable_pose() = PoseOf(map_T_base);
  if (variance > 0.0) {
    AppendRowMajor(Matrix6(variance * Matrix6::Identity()),
                   *sample.mutable_map_t_base()->mutable_covariance());
  }
  return sample;
}

// Poses around scan `i`, 10 cm from the truth, between which the vehicle moves.
void AddPoses(int i, v1::Scan& scan, double variance = 0.0) {
  const Pose off{{0.08, 0.06, 0.01}, RotationFromRosAngles(0.001, 0.002, 0.01)};
  *scan.add_poses() = PoseAt(StampOf(i) - 40'000'000, TruePose(i - 1) * off, variance);
  *scan.add_poses() = PoseAt(StampOf(i) + 30'000'000, TruePose(i) * off, variance);
}

v1::OpenSession OpenTown() {
  v1::OpenSession open = TownSession();
  open.mutable_setup()->set_vehicle("truck");
  return open;
}

// Can be told to answer every further scan with LOW_SCORE.
class ReplaySession : public TestSession {
 public:
  explicit ReplaySession(TestServer& server, const v1::OpenSession& open = OpenTown())
      : TestSession(server), options_(open.setup().options()) {
    Open(open);
  }
  void Refuse() {
    RefuseEveryScore(options_);
    v1::AlignScansRequest request;
    *request.mutable_configure()->mutable_setup()->mutable_options() = options_;
    Send(request);
    ASSERT_TRUE(Read().has_configured());
  }

 private:
  v1::AlignmentOptions options_;
};

// Does so from its first scan on.
class RefusedSession : public ReplaySession {
 public:
  explicit RefusedSession(TestServer& server, const v1::OpenSession& open = OpenTown())
      : ReplaySession(server, open) {
    Refuse();
  }
};

class CaptureReplay : public EngineTest {
 protected:
  void SetUp() override { server_.LoadTown(); }

  // Waits for the capture of an answer.
  std::optional<v1::Capture> CaptureOf(const v1::AlignmentResult& answer) {
    std::optional<v1::Capture> found;
    EXPECT_TRUE(Eventually([&] {
      for (const v1::CaptureInfo& info : CapturesOf(server_)) {
        v1::Capture capture;
        if (GetCapture(server_, info.id(), &capture).ok() &&
            capture.result().sequence() == answer.sequence()) {
          found = capture;
          return true;
        }
      }
      return false;
    })) << "no capture of scan "
        << answer.sequence();
    return found;
  }
  v1::AlignmentResult AlignUnary(const v1::AlignScanRequest& request) {
    v1::AlignScanResponse response;
    const grpc::Status status =
        server_.localization->AlignScan(TestServer::NewContext().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.result();
  }

  // The capture of an answer, which has been aligned again with the same pose.
  v1::Capture ExpectSame(const v1::AlignmentResult& answer) {
    EXPECT_EQ(answer.status(), v1::ALIGNMENT_STATUS_LOW_SCORE) << answer.ShortDebugString();
    EXPECT_GT(answer.iterations(), 0U);
    const std::optional<v1::Capture> capture = CaptureOf(answer);
    if (!capture.has_value()) return {};
    EXPECT_TRUE(capture->request().scan().poses().empty());
    const v1::AlignmentResult again = AlignUnary(capture->request());
    // To the last bit.
    EXPECT_EQ(again.map_t_base().pose().SerializeAsString(),
              answer.map_t_base().pose().SerializeAsString());
    EXPECT_EQ(again.guess_map_t_base().SerializeAsString(),
              answer.guess_map_t_base().SerializeAsString());
    EXPECT_EQ(again.iterations(), answer.iterations());
    EXPECT_EQ(again.evaluations(), answer.evaluations());
    EXPECT_EQ(again.scores().SerializeAsString(), answer.scores().SerializeAsString());
    EXPECT_EQ(again.status(), answer.status());
    EXPECT_EQ(again.points().used(), answer.points().used());
    return *capture;
  }
  // Likewise, with what is estimated of the pose.
  v1::Capture ExpectSameEstimates(const v1::AlignmentResult& answer) {
    const v1::Capture capture = ExpectSame(answer);
    const v1::AlignmentResult again = AlignUnary(capture.request());
    EXPECT_EQ(again.map_t_base().SerializeAsString(), answer.map_t_base().SerializeAsString());
    EXPECT_EQ(again.confidence().SerializeAsString(), answer.confidence().SerializeAsString());
    EXPECT_EQ(again.points().SerializeAsString(), answer.points().SerializeAsString());
    return capture;
  }

  v1::Capture ExpectSameDeskewed(const v1::AlignmentResult& answer) {
    EXPECT_TRUE(answer.points().deskewed());
    return ExpectSameEstimates(answer);
  }

  ScratchDir scratch_;
  TestServer server_{[this](Config& config) {
                       CaptureInto(scratch_.Path("captures"), config);
                       SensorCalibration roof;
                       roof.name = "roof";
                       roof.mount_offset_m.value = Eigen::Vector3d(0.02, -0.01, 0.03);
                       roof.mount_rotation_rad.value = Eigen::Vector3d(0.002, 0.001, -0.003);
                       roof.stamp_offset_s.value = 0.004;
                       config.sensors.Set(roof);
                     },
                     EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(CaptureReplay);

TEST_P(CaptureReplay, FromTheScansOwnGuessWithItsCovariance) {
  RefusedSession session(server_);
  v1::Scan scan = GuessedScanAt(1);
  AppendRowMajor(Matrix6(0.04 * Matrix6::Identity()),
                 *scan.mutable_guess_map_t_base()->mutable_covariance());
  // Of another length than 1: the server normalizes it.
  v1::Quaternion& q = *scan.mutable_guess_map_t_base()->mutable_pose()->mutable_orientation();
  q.set_x(q.x() * 1.7);
  q.set_y(q.y() * 1.7);
  q.set_z(q.z() * 1.7);
  q.set_w(q.w() * 1.7);
  ExpectSameEstimates(session.Align(scan));
}

TEST_P(CaptureReplay, FromAGuessInterpolatedFromTheSessionsPoses) {
  RefusedSession session(server_);
  for (int i = 1; i <= 4; ++i) {
    v1::Scan scan = ScanAt(i);
    AddPoses(i, scan, i % 2 == 0 ? 0.01 : 0.0);
    const v1::AlignmentResult answer = session.Align(scan);
    const v1::Capture capture = ExpectSameEstimates(answer);
    EXPECT_TRUE(capture.request().scan().has_guess_map_t_base());
    EXPECT_EQ(capture.request().scan().guess_map_t_base().covariance_size(), i % 2 == 0 ? 36 : 0);
  }
}

TEST_P(CaptureReplay, FromTheLastAnswerCarriedOnByTheOdometry) {
  ReplaySession session(server_);
  v1::Scan first = GuessedScanAt(1);
  *first.mutable_odom_t_base() = PoseOf(OdometryAt(1));
  ASSERT_TRUE(session.Align(first).accepted());
  session.Refuse();
  for (int i = 2; i <= 4; ++i) {
    v1::Scan scan = ScanAt(i);
    *scan.mutable_odom_t_base() = PoseOf(OdometryAt(i));
    const v1::AlignmentResult answer = session.Align(scan);
    const v1::Capture capture = ExpectSameEstimates(answer);
    EXPECT_TRUE(answer.has_map_t_odom());
    // That of the motion since the accepted answer: the systematic error, and 2 % of the way.
    const auto& covariance = capture.request().scan().motion_covariance();
    ASSERT_EQ(covariance.size(), 36);
    const Pose motion = OdometryAt(1).Inverse() * OdometryAt(i);
    EXPECT_NEAR(std::sqrt(covariance[0]), std::hypot(0.04, 0.02 * motion.translation.norm()), 1e-6);
    EXPECT_NEAR(std::sqrt(covariance[35]),
                std::hypot(0.0035, 0.02 * RotationDistance(Pose(), motion)), 1e-6);
  }
}

// The errors that the session's filter has adapted are those of the capture.
TEST_P(CaptureReplay, FromTheFilterOfTheSession) {
  v1::OpenSession open = OpenTown();
  open.mutable_fusion();
  ReplaySession session(server_, open);
  for (int i = 1; i <= 3; ++i) {
    v1::Scan scan = i == 1 ? GuessedScanAt(i) : ScanAt(i);
    *scan.mutable_odom_t_base() = PoseOf(OdometryAt(i));
    const v1::AlignmentResult answer = session.Align(scan);
    ASSERT_TRUE(answer.accepted());
    EXPECT_EQ(answer.fused().stamp_offset_s(), 0.0);  // 1 m of way has shown nothing
    EXPECT_GT(answer.fused().stamp_offset_sigma_s(), 0.02);
  }
  session.Refuse();
  v1::Scan scan = ScanAt(4);
  *scan.mutable_odom_t_base() = PoseOf(OdometryAt(4));
  const v1::Capture capture = ExpectSameEstimates(session.Align(scan));
  const v1::CovarianceOptions& options = capture.request().setup().options().covariance();
  EXPECT_NEAR(options.systematic_time_sigma_s().value(), std::hypot(0.02, 0.002), 1e-9);
  ASSERT_EQ(options.systematic_position_sigma_m_size(), 3);
  EXPECT_EQ(options.systematic_position_sigma_m(0), 0.04);
}

TEST_P(CaptureReplay, FromTheLastPoseOfAnEarlierSession) {
  {
    ReplaySession session(server_);
    ASSERT_TRUE(session.Align(GuessedScanAt(1)).accepted());
  }
  v1::OpenSession open = OpenTown();
  open.set_from_last_pose(true);
  RefusedSession session(server_, open);
  ExpectSameEstimates(session.Align(ScanAt(2)));
}

TEST_P(CaptureReplay, WithPointsMovedByTheScansTwist) {
  RefusedSession session(server_);
  v1::Scan scan = GuessedScanAt(1);
  SetTimes(scan);
  VectorToProto({2.9, 0.1, -0.02}, *scan.mutable_base_twist()->mutable_linear());
  VectorToProto({0.01, -0.02, 0.2}, *scan.mutable_base_twist()->mutable_angular());
  ExpectSameDeskewed(session.Align(scan));
}

TEST_P(CaptureReplay, WithPointsMovedByTheSessionsPoses) {
  RefusedSession session(server_);
  for (const bool own_guess : {false, true}) {
    const int i = own_guess ? 3 : 2;
    v1::Scan scan = ScanAt(i);
    AddPoses(i, scan);
    SetTimes(scan);
    if (own_guess) SetGuess(i, scan);
    EXPECT_TRUE(ExpectSameDeskewed(session.Align(scan)).request().scan().has_base_twist());
  }
}

TEST_P(CaptureReplay, WithPointsMovedByTheLastTwoAnswers) {
  ReplaySession session(server_);
  for (int i = 1; i <= 2; ++i) ASSERT_TRUE(session.Align(GuessedScanAt(i)).accepted());
  session.Refuse();
  v1::Scan scan = GuessedScanAt(3);
  SetTimes(scan);
  EXPECT_TRUE(ExpectSameDeskewed(session.Align(scan)).request().scan().has_base_twist());
}

TEST_P(CaptureReplay, WithSeveralCloudsTheirMountsStampsAndFilters) {
  v1::OpenSession open = OpenTown();
  open.mutable_setup()->mutable_options()->set_sensor("roof");
  open.mutable_setup()->mutable_options()->set_profile("autoware");
  v1::ScanFilter& filter = *open.mutable_setup()->mutable_filter();
  filter.set_min_range_m(1.0);
  filter.mutable_min_height_m()->set_value(-3.0);
  filter.set_voxel_leaf_m(0.4);
  filter.set_max_points(900);
  filter.set_random_seed(11);
  const Pose front{{1.2, 0.1, 0.4}, RotationFromRosAngles(0.0, 0.02, 0.1)};
  const Pose rear{{-1.1, 0.0, 0.5}, RotationFromRosAngles(0.01, 0.0, 3.0)};
  *open.mutable_setup()->mutable_base_t_sensor() = PoseOf(front);
  RefusedSession session(server_, open);
  v1::Scan scan = ScanAt(2, front);
  AddPoses(2, scan);
  v1::SensorCloud& second = *scan.add_clouds();
  *second.mutable_cloud() = CloudOf(ScanFrom(TruePose(2) * rear, 500));
  *second.mutable_base_t_sensor() = PoseOf(rear);
  second.set_stamp_ns(scan.stamp_ns() - 30'000'000);
  const v1::AlignmentResult answer = session.Align(scan);
  EXPECT_TRUE(answer.points().deskewed());
  EXPECT_GT(answer.points().thinned(), 0U);
  const v1::Capture capture = ExpectSameEstimates(answer);
  EXPECT_EQ(capture.request().scan().clouds_size(), 2);
  EXPECT_EQ(capture.request().setup().options().profile(), "autoware");
}

TEST_P(CaptureReplay, WithAReferencePositionAndOverrides) {
  v1::OpenSession open = OpenTown();
  v1::AlignmentOverrides& overrides = *open.mutable_setup()->mutable_options()->mutable_overrides();
  overrides.mutable_regularization()->mutable_scale_factor()->set_value(0.01);
  overrides.mutable_outlier_ratio()->set_value(0.4);
  RefusedSession session(server_, open);
  v1::AlignScansRequest reference;
  for (const int64_t ahead_ns : {-kScanNs, kScanNs}) {
    reference.mutable_reference()->set_stamp_ns(StampOf(2) + ahead_ns);
    VectorToProto(TruePose(2).translation + Eigen::Vector3d(0.5, 0.2, 0.0),
                  *reference.mutable_reference()->mutable_position());
    session.Send(reference);
  }
  EXPECT_TRUE(ExpectSameEstimates(session.Align(GuessedScanAt(2)))
                  .request()
                  .scan()
                  .has_reference_position());
}

TEST_P(CaptureReplay, OfAScanWithPosesThatAlignScanBrings) {
  v1::AlignScanRequest request;
  *request.mutable_setup() = OpenTown().setup();
  RefuseEveryScore(*request.mutable_setup()->mutable_options());
  *request.mutable_scan() = ScanAt(2);
  AddPoses(2, *request.mutable_scan(), 0.02);
  SetTimes(*request.mutable_scan());
  request.mutable_scan()->set_timeout_s(30.0);
  request.mutable_scan()->set_traceparent(
      "00-11112222333344445555666677778888-1111222233334444-01");
  const v1::AlignmentResult answer = AlignUnary(request);
  EXPECT_TRUE(answer.points().deskewed());
  const v1::Capture capture = ExpectSameEstimates(answer);
  EXPECT_EQ(capture.info().session(), "");
  EXPECT_EQ(capture.info().vehicle(), "truck");
  EXPECT_EQ(capture.result().SerializeAsString(), answer.SerializeAsString());
  EXPECT_EQ(capture.request().scan().timeout_s(), 0.0);
  EXPECT_EQ(capture.request().scan().traceparent(), "");
}

TEST_P(CaptureReplay, OfScansThatAreJoinedWithEarlierOnes) {
  for (const bool timed : {false, true}) {
    v1::OpenSession open = OpenTown();
    open.mutable_accumulation()->set_scans(4);
    open.mutable_setup()->mutable_filter()->set_voxel_leaf_m(0.3);
    open.mutable_setup()->mutable_filter()->set_max_points(2000);
    const Pose mount{{0.7, -0.2, 0.3}, RotationFromRosAngles(0.0, 0.01, 0.05)};
    *open.mutable_setup()->mutable_base_t_sensor() = PoseOf(mount);
    RefusedSession session(server_, open);
    for (int i = 1; i <= 5; ++i) {
      v1::Scan scan = ScanAt(i, mount);
      scan.set_sequence(static_cast<uint64_t>(timed ? 100 + i : i));
      SetGuess(i, scan);
      *scan.mutable_odom_t_base() = PoseOf(OdometryAt(i));
      if (timed) {
        SetTimes(scan);
        VectorToProto({2.9, 0.1, -0.02}, *scan.mutable_base_twist()->mutable_linear());
      }
      const v1::AlignmentResult answer = session.Align(scan);
      EXPECT_EQ(answer.points().joined_scans(), std::min<uint32_t>(i, 4));
      const v1::Capture capture = ExpectSame(answer);
      EXPECT_EQ(capture.request().scan().clouds_size(), 1);
    }
  }
}

TEST_P(CaptureReplay, JoinedScansOfASensorWhoseMountIsCorrectedAreNotCaptured) {
  v1::OpenSession open = OpenTown();
  open.mutable_accumulation()->set_scans(2);
  open.mutable_setup()->mutable_options()->set_sensor("roof");
  RefusedSession session(server_, open);
  for (int i = 1; i <= 3; ++i) {
    v1::Scan scan = GuessedScanAt(i);
    *scan.mutable_odom_t_base() = PoseOf(OdometryAt(i));
    EXPECT_FALSE(session.Align(scan).accepted());
  }
  // The first scan is alone; a later one of another session says when the others would be there.
  RefusedSession last(server_);
  const v1::AlignmentResult later = last.Align(GuessedScanAt(9));
  ASSERT_TRUE(CaptureOf(later).has_value());
  // Before anything is aligned again, which is captured too.
  const auto captures = CapturesOf(server_);
  ASSERT_EQ(captures.size(), 2U);
  ExpectSame(later);
  v1::Capture first;
  ASSERT_TRUE(GetCapture(server_, captures[1].id(), &first).ok());
  EXPECT_EQ(first.result().sequence(), 1U);
  ExpectSame(first.result());
}

// As LostVehicle in tracking_session_test.cc: poses that are 6 m off, and a search that finds the
// vehicle and moves them.
TEST_P(CaptureReplay, FromTheBetterOfTwoGuessesAfterARecovery) {
  v1::OpenSession open = OpenTown();
  open.mutable_setup()->mutable_options()->set_profile("autoware");
  open.mutable_setup()->mutable_options()->mutable_gate()->mutable_min_confidence()->set_value(0.5);
  v1::RecoveryOptions& recovery = *open.mutable_recovery();
  recovery.set_lost_after_scans(2);
  recovery.set_initial_radius_m(8.0);
  recovery.set_max_radius_m(12.0);
  recovery.set_apply(true);
  ReplaySession session(server_, open);
  const auto step = [&](int i, double off_x_m) {
    v1::Scan scan = ScanAt(0);
    scan.set_sequence(static_cast<uint64_t>(i));
    scan.set_stamp_ns(StampOf(i));
    Pose say = VehiclePose();
    say.translation.x() += off_x_m;
    *scan.add_poses() = PoseAt(scan.stamp_ns() - 1, say);
    *scan.add_poses() = PoseAt(scan.stamp_ns() + 1, say);
    return session.Align(scan);
  };
  ASSERT_TRUE(step(1, 0.1).accepted());
  bool applied = false;
  int i = 2;
  for (; i < 20 && !applied; ++i) applied = step(i, 6.0).recovery().applied();
  ASSERT_TRUE(applied);
  ASSERT_TRUE(step(i++, 6.0).accepted());
  session.Refuse();
  const auto guess_x = [](const v1::AlignmentResult& answer) {
    return answer.guess_map_t_base().position().x() - VehiclePose().translation.x();
  };
  const v1::AlignmentResult moved = step(i++, 6.0);
  EXPECT_LT(std::abs(guess_x(moved)), 1.0);  // the guess that the recovery has moved
  ExpectSame(moved);
  const v1::AlignmentResult own = step(i++, 0.1);
  EXPECT_NEAR(guess_x(own), 0.1, 1e-6);  // that of the poses, as it is
  ExpectSame(own);
}

TEST_P(CaptureReplay, OfAScanOutOfTheMap) {
  ReplaySession session(server_);
  v1::Scan scan = GuessedScanAt(1);
  scan.mutable_guess_map_t_base()->mutable_pose()->mutable_position()->set_x(5000.0);
  const v1::AlignmentResult answer = session.Align(scan);
  ASSERT_EQ(answer.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  const std::optional<v1::Capture> capture = CaptureOf(answer);
  ASSERT_TRUE(capture.has_value());
  const v1::AlignmentResult again = AlignUnary(capture->request());
  EXPECT_EQ(again.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  EXPECT_EQ(again.map_t_base().SerializeAsString(), answer.map_t_base().SerializeAsString());
}

TEST_P(CaptureReplay, TheAnswerIsKeptWithoutCloudsScoresAndTrace) {
  v1::OpenSession open = OpenTown();
  open.mutable_setup()->mutable_output()->set_aligned_cloud(true);
  open.mutable_setup()->mutable_output()->set_point_scores(true);
  open.mutable_setup()->mutable_output()->set_trace(true);
  open.mutable_setup()->mutable_output()->set_hessian(true);
  RefusedSession session(server_, open);
  v1::AlignmentResult answer = session.Align(GuessedScanAt(1));
  EXPECT_TRUE(answer.has_aligned_cloud() && answer.has_point_scores() && answer.has_trace());
  const v1::Capture capture = ExpectSame(answer);
  answer.clear_aligned_cloud();
  answer.clear_point_scores();
  answer.clear_trace();
  EXPECT_EQ(capture.result().SerializeAsString(), answer.SerializeAsString());
}

}  // namespace
}  // namespace voxloc::server
