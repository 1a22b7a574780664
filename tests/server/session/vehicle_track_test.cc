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

// From VehiclePose() moved along x, with a guess that is 0.3 m off.
v1::Scan ScanAt(double x_m, uint64_t sequence) {
  Pose map_T_base = VehiclePose();
  map_T_base.translation.x() += x_m;
  v1::Scan scan = GoodScan(sequence);
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(ScanFrom(map_T_base));
  map_T_base.translation.y() += 0.3;
  *scan.mutable_guess_map_t_base()->mutable_pose() = PoseOf(map_T_base);
  return scan;
}

class VehicleTrack : public EngineTest {
 protected:
  TownServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(VehicleTrack);

TEST_P(VehicleTrack, AJumpIsAcceptedOnceFiveScansAgree) {
  TestSession session(server_, "town");
  uint64_t sequence = 0;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.Align(ScanAt(0.0, ++sequence)).accepted());
  for (int i = 1; i <= 4; ++i) {
    const v1::AlignmentResult doubted = session.Align(ScanAt(-5.0, ++sequence));
    EXPECT_EQ(doubted.status(), v1::ALIGNMENT_STATUS_LOW_CONFIDENCE);
    EXPECT_FALSE(doubted.accepted());
    EXPECT_THAT(doubted.detail(), HasSubstr("5.0 m and 0 degrees from the last accepted one"));
    EXPECT_THAT(doubted.detail(), HasSubstr(std::to_string(i) + " of 5 scans in a row agree"));
  }
  EXPECT_EQ(session.Align(ScanAt(-5.0, ++sequence)).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(VehicleTrack, ASessionThatIsActivatedAnewBeginsAnew) {
  TestSession session(server_, "town");
  for (const uint64_t sequence : {1, 2}) {
    EXPECT_TRUE(session.Align(ScanAt(0.0, sequence)).accepted());
  }
  EXPECT_FALSE(session.Align(ScanAt(-5.0, 3)).accepted());
  v1::AlignScansRequest activate;
  activate.mutable_activate()->set_active(true);
  session.Send(activate);
  EXPECT_TRUE(session.Read().has_activated());
  EXPECT_TRUE(session.Align(ScanAt(-5.0, 4)).accepted());
}

TEST_P(VehicleTrack, IsFollowedNeitherByTheReferencesRuleNorWithoutASession) {
  TestSession session(
      server_, TownSession("setup { options { gate { rule: ACCEPTANCE_RULE_REFERENCE } } }"));
  EXPECT_TRUE(session.Align(ScanAt(0.0, 1)).accepted());
  EXPECT_TRUE(session.Align(ScanAt(-5.0, 2)).accepted());
  v1::AlignmentResult alone;
  for (const double x_m : {0.0, -5.0, 0.0}) {
    ASSERT_TRUE(AlignInTown(server_, ScanAt(x_m, 3), alone).ok());
    EXPECT_TRUE(alone.accepted()) << alone.detail();
  }
}

}  // namespace
}  // namespace voxloc::server
