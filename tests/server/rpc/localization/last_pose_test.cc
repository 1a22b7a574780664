// SPDX-License-Identifier: Apache-2.0
//
// Sessions that begin where their vehicle was last.

#include <gtest/gtest.h>

#include <string>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

v1::OpenSession OpenOf(const std::string& vehicle, const std::string& map = "town") {
  v1::OpenSession open;
  open.mutable_setup()->set_map(map);
  open.mutable_setup()->set_vehicle(vehicle);
  open.set_from_last_pose(true);
  return open;
}

v1::Scan WithoutGuess(uint64_t sequence) {
  v1::Scan scan = GoodScan(sequence);
  scan.clear_guess_map_t_base();
  return scan;
}

class LastPoseTest : public ::testing::Test {
 protected:
  LastPoseTest() {
    server_.LoadTown();
    server_.LoadTown("other");
  }
  // A session of this vehicle with one accepted scan; returns its pose.
  v1::Pose Drive(const std::string& vehicle) {
    TestSession session(server_);
    v1::OpenSession open = OpenOf(vehicle);
    open.set_from_last_pose(false);
    session.Open(open);
    const v1::AlignmentResult result = session.Align(GoodScan());
    EXPECT_TRUE(result.accepted());
    return result.map_t_base().pose();
  }

  TestServer server_;
};

TEST_F(LastPoseTest, AreTheFirstGuess) {
  const v1::Pose last = Drive("bus");
  TestSession session(server_);
  session.Open(OpenOf("bus"));
  ASSERT_TRUE(session.opened().has_last_pose());
  EXPECT_EQ(session.opened().last_pose().map_revision(), 1u);
  EXPECT_GE(session.opened().last_pose().age_s(), 0.0);
  EXPECT_EQ(session.opened().last_pose().map_t_base().position().x(), last.position().x());
  const v1::AlignmentResult result = session.Align(WithoutGuess(1));
  EXPECT_TRUE(result.accepted()) << result.ShortDebugString();
  EXPECT_EQ(result.guess_map_t_base().position().x(), last.position().x());
  // From then on the session knows better, and a scan must bring something.
  EXPECT_EQ(session.Align(WithoutGuess(2)).status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
}

TEST_F(LastPoseTest, AreNotBelievedWhereTheScanDoesNotFit) {
  static_cast<void>(Drive("bus"));
  TestSession session(server_);
  session.Open(OpenOf("bus"));
  v1::Scan elsewhere = WithoutGuess(1);
  // The same points about 12 m away and turned: nothing of the map is where they are.
  v1::Pose& mount = *elsewhere.mutable_clouds(0)->mutable_base_t_sensor();
  mount.mutable_position()->set_x(12.0);
  mount.mutable_position()->set_z(30.0);
  mount.mutable_orientation()->set_w(1.0);
  EXPECT_FALSE(session.Align(elsewhere).accepted());
  // Nothing was taken over: the pose is still the first guess.
  EXPECT_TRUE(session.Align(WithoutGuess(2)).accepted());
}

TEST_F(LastPoseTest, AreOfAVehicleAndAMapForThoseWhoAsk) {
  static_cast<void>(Drive("bus"));
  v1::OpenSession not_asked = OpenOf("bus");
  not_asked.set_from_last_pose(false);
  for (const v1::OpenSession& open : {OpenOf("van"), OpenOf("bus", "other"), not_asked}) {
    TestSession session(server_);
    session.Open(open);
    EXPECT_FALSE(session.opened().has_last_pose());
    EXPECT_EQ(session.Align(WithoutGuess(1)).status(), v1::ALIGNMENT_STATUS_NO_PRIOR);
  }
  EXPECT_EQ(OpenError(server_, OpenOf("")).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace voxloc::server
