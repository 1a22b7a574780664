// SPDX-License-Identifier: Apache-2.0
//
// Sessions that join each scan with the ones before it, and searches with scans that are joined by
// the client: a vehicle with a narrow sensor, whose scans show a quarter of the town each.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "server/convert/pose.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kScanNs = 100'000'000;
constexpr int kQuarters = 4;

// A drive that turns, in steps of a decimetre.
Pose StepOf(int i) { return {{0.1 * i, 0.02 * i, 0.0}, RotationFromRosAngles(0.0, 0.0, 0.03 * i)}; }
Pose TruePose(int i) { return VehiclePose() * StepOf(i); }

// In a frame of its own, far from the map's.
Pose OdometryAt(int i) {
  const Pose start{{-700.0, 31.0, 4.0}, RotationFromRosAngles(0.01, -0.02, 2.1)};
  return start * StepOf(i);
}

// What the sensor sees from the i-th pose: every point of one quarter of the directions, in turn.
PointCloud QuarterSeen(int i) {
  const PointCloud all = ScanFrom(TruePose(i));
  PointCloud seen;
  for (size_t k = 0; k < all.size(); ++k) {
    const double turns = std::atan2(all.y[k], all.x[k]) / (2.0 * M_PI) + 0.5;
    if (std::min(static_cast<int>(turns * kQuarters), kQuarters - 1) != i % kQuarters) continue;
    seen.PushBack(all.x[k], all.y[k], all.z[k]);
  }
  return seen;
}

v1::Scan NarrowScan(int i) {
  v1::Scan scan = GoodScan(static_cast<uint64_t>(i + 1));
  scan.set_stamp_ns((i + 1) * kScanNs);
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(QuarterSeen(i));
  const Pose off{{0.2, -0.15, 0.03}, RotationFromRosAngles(0.0, 0.0, 0.01)};
  *scan.mutable_guess_map_t_base()->mutable_pose() = PoseOf(TruePose(i) * off);
  *scan.mutable_odom_t_base() = PoseOf(OdometryAt(i));
  return scan;
}

v1::OpenSession Accumulating(uint32_t scans, const std::string& text = "") {
  v1::OpenSession open = TownSession(text);
  open.mutable_accumulation()->set_scans(scans);
  return open;
}

class Accumulation : public EngineTest {
 protected:
  static void Activate(TestSession& session) {
    v1::AlignScansRequest activate;
    activate.mutable_activate()->set_active(true);
    session.Send(activate);
    EXPECT_TRUE(session.Read().has_activated());
  }
  static double ErrorM(const v1::AlignmentResult& result, int i) {
    const auto pose = PoseFromProto(result.map_t_base().pose(), "map_t_base");
    EXPECT_TRUE(pose.ok()) << result.detail();
    return pose.ok() ? TranslationDistance(*pose, TruePose(i)) : 0.0;
  }

  TownServer server_{[](Config& config) { config.limits.max_accumulated_points = 6000; },
                     EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(Accumulation);

TEST_P(Accumulation, JoinsEachScanWithTheOnesBefore) {
  TestSession session(server_, Accumulating(kQuarters, "setup { output { aligned_cloud: true } }"));
  for (int i = 0; i < 6; ++i) {
    const v1::AlignmentResult result = session.Align(NarrowScan(i));
    const v1::PointCounts& points = result.points();
    const int first = std::max(0, i + 1 - kQuarters);
    EXPECT_EQ(points.joined_scans(), static_cast<uint32_t>(i + 1 - first));
    EXPECT_EQ(points.received(), QuarterSeen(i).size());
    EXPECT_EQ(points.received() + points.joined_points(),
              points.not_finite() + points.filtered_out() + points.thinned() + points.used());
    if (i < kQuarters - 1) continue;
    ASSERT_TRUE(result.accepted()) << result.detail();
    EXPECT_LT(ErrorM(result, i), 0.1);

    // Every point lies where the true poses put it, as near as the answer is to the true pose.
    const std::string& data = result.aligned_cloud().data();
    const v1::Vector3& origin = result.aligned_cloud().origin();
    ASSERT_EQ(data.size(), points.used() * 3 * sizeof(float));
    size_t place = 0;
    for (int from = i; from >= first; --from) {
      const PointCloud seen = QuarterSeen(from);
      for (size_t k = 0; k < seen.size(); ++k, ++place) {
        std::array<float, 3> offset{};
        std::memcpy(offset.data(), &data[place * sizeof(offset)], sizeof(offset));
        const Eigen::Vector3d aligned(origin.x() + static_cast<double>(offset[0]),
                                      origin.y() + static_cast<double>(offset[1]),
                                      origin.z() + static_cast<double>(offset[2]));
        ASSERT_LT((aligned - TruePose(from) * seen.Point(k)).norm(), 0.15) << from << ' ' << k;
      }
    }
  }
}

TEST_P(Accumulation, AnswersOtherSessionsWithTheScanAlone) {
  TestSession session(server_, "town");
  for (int i = 0; i < 2; ++i) {
    const v1::PointCounts points = session.Align(NarrowScan(i)).points();
    EXPECT_EQ(points.joined_scans(), 0U);
    EXPECT_EQ(points.joined_points(), 0U);
    EXPECT_EQ(points.used(), QuarterSeen(i).size());
  }
}

TEST_P(Accumulation, AScanWithoutOdometryIsMalformed) {
  TestSession session(server_, Accumulating(4));
  v1::Scan scan = NarrowScan(0);
  scan.clear_odom_t_base();
  const v1::AlignmentResult refused = session.Align(scan);
  EXPECT_EQ(refused.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  EXPECT_THAT(refused.detail(), HasSubstr("odom_t_base must be set"));
  EXPECT_EQ(session.Align(NarrowScan(1)).points().joined_scans(), 1U);
}

TEST_P(Accumulation, AJumpOfTheOdometryAndActivationBeginAnew) {
  TestSession session(server_, Accumulating(10));
  EXPECT_EQ(session.Align(NarrowScan(0)).points().joined_scans(), 1U);
  EXPECT_EQ(session.Align(NarrowScan(1)).points().joined_scans(), 2U);
  v1::Scan scan = NarrowScan(2);
  *scan.mutable_odom_t_base() = PoseOf(Pose{{500.0, 0.0, 0.0}, Eigen::Quaterniond::Identity()});
  EXPECT_EQ(session.Align(scan).points().joined_scans(), 1U);
  EXPECT_EQ(session.Align(NarrowScan(3)).points().joined_scans(), 1U);
  EXPECT_EQ(session.Align(NarrowScan(4)).points().joined_scans(), 2U);

  Activate(session);
  EXPECT_EQ(session.Align(NarrowScan(5)).points().joined_scans(), 1U);
}

TEST_P(Accumulation, ScansThatAreRefusedAreNotJoined) {
  // The record tells of the points of a scan that is refused too.
  TestSession session(
      server_, Accumulating(10, "start_inactive: true setup { output { diagnostics: true } }"));
  EXPECT_EQ(session.Align(NarrowScan(0)).status(), v1::ALIGNMENT_STATUS_NOT_ACTIVE);
  Activate(session);
  EXPECT_EQ(session.Align(NarrowScan(1)).points().joined_scans(), 1U);
}

TEST_P(Accumulation, AVehicleThatStandsGathersNoPointsWithAVoxelFilter) {
  TestSession session(server_, Accumulating(10, "setup { filter { voxel_leaf_m: 0.5 } }"));
  const uint32_t alone = session.Align(NarrowScan(0)).points().used();
  for (int k = 1; k < 4; ++k) {
    v1::Scan scan = NarrowScan(0);
    scan.set_stamp_ns(scan.stamp_ns() + k * kScanNs);
    const v1::PointCounts points = session.Align(scan).points();
    EXPECT_EQ(points.joined_scans(), static_cast<uint32_t>(k + 1));
    EXPECT_EQ(points.used(), alone);
    EXPECT_EQ(points.received() + points.joined_points(), points.thinned() + points.used());
  }
}

TEST_P(Accumulation, PointsAreBoundedByTheFilterAndByTheServer) {
  TestSession filtered(server_, Accumulating(10, "setup { filter { max_points: 200 } }"));
  for (int i = 0; i < 3; ++i) {
    const v1::PointCounts points = filtered.Align(NarrowScan(i)).points();
    EXPECT_EQ(points.used(), 200U);
    EXPECT_EQ(points.joined_points(), static_cast<uint32_t>(200 * i));
  }
  TestSession session(server_, Accumulating(100));
  uint32_t joined = 0;
  for (int i = 0; i < 24; ++i) {
    const v1::PointCounts points = session.Align(NarrowScan(i)).points();
    EXPECT_LE(points.used(), 6000U);
    joined = points.joined_scans();
  }
  EXPECT_GT(joined, 4U);
  EXPECT_LT(joined, 24U);
}

TEST_P(Accumulation, TheSameDriveGivesTheSameBits) {
  std::vector<std::string> answers;
  for (int run = 0; run < 2; ++run) {
    TestSession session(
        server_, Accumulating(kQuarters, "setup { filter { voxel_leaf_m: 0.4 max_points: 900 } }"));
    std::string answer;
    for (int i = 0; i < 6; ++i) {
      v1::AlignmentResult result = session.Align(NarrowScan(i));
      answer += result.map_t_base().SerializeAsString() + result.scores().SerializeAsString() +
                result.confidence().SerializeAsString();
    }
    answers.push_back(answer);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_P(Accumulation, ARecoverySearchesWithTheJointCloud) {
  TestSession session(
      server_,
      Accumulating(kQuarters,
                   "recovery { lost_after_scans: 1 initial_radius_m: 2 max_radius_m: 2 }"));
  for (int i = 0; i < kQuarters; ++i) static_cast<void>(session.Align(NarrowScan(i)));
  v1::Scan scan = NarrowScan(kQuarters);
  *scan.mutable_guess_map_t_base()->mutable_pose() =
      PoseOf(Pose{{500.0, 500.0, 0.0}, Eigen::Quaterniond::Identity()});
  const v1::AlignmentResult lost = session.Align(scan);
  EXPECT_EQ(lost.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  ASSERT_TRUE(lost.has_recovery());
  EXPECT_TRUE(lost.recovery().has_map_t_base()) << lost.recovery().detail();
  EXPECT_GT(lost.recovery().scores().matched_points(), lost.points().received());
}

TEST_P(Accumulation, OptionsOutsideTheirRangesEndTheSession) {
  for (const uint32_t scans : {0U, 101U}) {
    const grpc::Status status = OpenError(server_, Accumulating(scans));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("accumulation.scans must be from 1 to 100"));
  }
}

// A call without a session: the client joins the scans, as clouds of one scan.
TEST_P(Accumulation, ASearchTakesEarlierScansAsCloudsOfTheNewest) {
  v1::EstimateInitialPoseRequest request = PriorRequest();
  v1::Scan& scan = *request.mutable_scan();
  scan = NarrowScan(kQuarters);
  scan.clear_clouds();
  uint32_t points = 0;
  for (int i = kQuarters; i > 0; --i) {
    v1::SensorCloud& cloud = *scan.add_clouds();
    *cloud.mutable_cloud() = CloudOf(QuarterSeen(i));
    *cloud.mutable_base_t_sensor() = PoseOf(OdometryAt(kQuarters).Inverse() * OdometryAt(i));
    points += static_cast<uint32_t>(QuarterSeen(i).size());
  }
  const PoseSearchReply reply = Search(server_, request);
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  ASSERT_GE(reply.result.hypotheses_size(), 1);
  EXPECT_EQ(reply.result.points().used(), points);
  const auto best = PoseFromProto(reply.result.hypotheses(0).map_t_base().pose(), "map_t_base");
  ASSERT_TRUE(best.ok());
  EXPECT_LT(TranslationDistance(*best, TruePose(kQuarters)), 0.1);
}

}  // namespace
}  // namespace voxloc::server
