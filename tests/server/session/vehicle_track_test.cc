// SPDX-License-Identifier: Apache-2.0
//
// Results of a session that do not follow from its vehicle's track.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

// From VehiclePose() moved along x, with a guess that is so far off.
v1::Scan ScanAt(double x_m, uint64_t sequence, double guess_error_m = 0.3) {
  Pose map_T_base = VehiclePose();
  map_T_base.translation.x() += x_m;
  v1::Scan scan = GoodScan(sequence);
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(ScanFrom(map_T_base));
  map_T_base.translation.y() += guess_error_m;
  *scan.mutable_guess_map_t_base()->mutable_pose() = PoseOf(map_T_base);
  return scan;
}

// By `rule`; results that are more than 0.1 m from their guess count as far from it.
v1::OpenSession SessionBy(const std::string& rule) {
  return TownSession("setup { options { gate { rule: " + rule +
                     " validation { initial_to_result_distance_tolerance_m { value: 0.1 } } } } }");
}

class VehicleTrack : public EngineTest {
 protected:
  static void AddLateSensor(Config& config) {
    SensorCalibration late;
    late.name = "late";
    late.stamp_offset_s.value = -0.05;
    config.sensors.Set(late);
  }

  TownServer server_{AddLateSensor, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(VehicleTrack);

TEST_P(VehicleTrack, AJumpFarFromTheGuessIsAcceptedOnceFiveScansAgree) {
  TestSession session(server_, SessionBy("ACCEPTANCE_RULE_STRICT"));
  uint64_t sequence = 0;
  EXPECT_TRUE(session.Align(ScanAt(0.0, ++sequence, 0.0)).accepted());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.Align(ScanAt(0.0, ++sequence)).accepted());
  for (int i = 1; i <= 4; ++i) {
    const v1::AlignmentResult doubted = session.Align(ScanAt(-5.0, ++sequence));
    EXPECT_EQ(doubted.status(), v1::ALIGNMENT_STATUS_LOW_CONFIDENCE);
    EXPECT_FALSE(doubted.accepted());
    EXPECT_THAT(doubted.detail(), HasSubstr("5.0 m and 0 degrees from the last accepted one"));
    EXPECT_THAT(doubted.detail(), HasSubstr(std::to_string(i) + " of 5 scans in a row agree"));
  }
  EXPECT_EQ(session.Align(ScanAt(-5.0, ++sequence)).status(), v1::ALIGNMENT_STATUS_OK);
  // Where the guess expects it, a pose needs no confirmation.
  EXPECT_TRUE(session.Align(ScanAt(0.0, ++sequence, 0.0)).accepted());
}

TEST_P(VehicleTrack, IsForgottenWhereTheSessionIsActivatedAnew) {
  TestSession session(server_, SessionBy("ACCEPTANCE_RULE_STRICT"));
  EXPECT_TRUE(session.Align(ScanAt(0.0, 1, 0.0)).accepted());
  EXPECT_TRUE(session.Align(ScanAt(0.0, 2)).accepted());
  v1::AlignScansRequest activate;
  activate.mutable_activate()->set_active(true);
  session.Send(activate);
  EXPECT_TRUE(session.Read().has_activated());
  EXPECT_THAT(session.Align(ScanAt(0.0, 3)).detail(), HasSubstr("1 of 5 scans in a row agree"));
}

TEST_P(VehicleTrack, IsNotAskedForWhereScansHaveNoStamps) {
  v1::OpenSession open = SessionBy("ACCEPTANCE_RULE_STRICT");
  open.mutable_setup()->mutable_options()->set_sensor("late");
  TestSession session(server_, open);
  for (const uint64_t sequence : {1, 2, 3}) {
    v1::Scan scan = ScanAt(sequence == 2 ? -5.0 : 0.0, sequence);
    scan.set_stamp_ns(0);
    const v1::AlignmentResult result = session.Align(scan);
    EXPECT_TRUE(result.accepted()) << result.detail();
  }
}

TEST_P(VehicleTrack, IsFollowedNeitherByTheReferencesRuleNorWithoutASession) {
  TestSession session(server_, SessionBy("ACCEPTANCE_RULE_REFERENCE"));
  EXPECT_TRUE(session.Align(ScanAt(0.0, 1)).accepted());
  EXPECT_TRUE(session.Align(ScanAt(-5.0, 2)).accepted());
  v1::AlignScanRequest request;
  *request.mutable_setup() = SessionBy("ACCEPTANCE_RULE_STRICT").setup();
  *request.mutable_scan() = ScanAt(0.0, 1);
  v1::AlignScanResponse alone;
  ASSERT_TRUE(
      server_.localization->AlignScan(TestServer::NewContext().get(), request, &alone).ok());
  EXPECT_TRUE(alone.result().accepted()) << alone.result().detail();
}

}  // namespace
}  // namespace voxloc::server
