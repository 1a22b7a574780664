// SPDX-License-Identifier: Apache-2.0
//
// The bridge beside the localizer in use (voxloc.shadow), before the real server.

#include <gmock/gmock.h>

#include "clients/ros/core/bridge.h"
#include "tests/clients/ros/bridge_fixture.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::ros {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BridgeShadowTest : public BridgeFixture {
 protected:
  void SetUp() override { server_.LoadTown(); }
  void TearDown() override { bridge_.reset(); }

  server::TestServer server_;
};

TEST_F(BridgeShadowTest, ComparesItselfAndBroadcastsNothing) {
  parameters_.voxloc.shadow = true;
  EXPECT_EQ(Bridge::Create("ndt_scan_matcher", parameters_, fakes_.ports()).status().code(),
            absl::StatusCode::kInvalidArgument);
  node_name_ = "voxloc_shadow";
  StartBridge(server_.server().address());
  ASSERT_TRUE(AwaitConnection());
  EXPECT_TRUE(bridge().is_activated());
  // Half a metre behind.
  const auto give_incumbent = [this](int i, const std::string& frame) {
    PoseWithCovarianceStamped pose;
    pose.header = {StampAt(i), frame};
    pose.pose = TruthAt(i - 1);
    bridge().OnIncumbentPose(pose);
  };
  constexpr int kScans = 5;
  for (int i = 0; i < kScans; ++i) {
    EXPECT_EQ(Drive(i).level, DiagnosticStatus::kOk);
    give_incumbent(i, "odom");  // of no use
    give_incumbent(i, "map");
  }
  ASSERT_TRUE(Eventually([&] {
    return fakes_.output.Statuses("shadow_status").size() == static_cast<size_t>(kScans);
  }));
  const DiagnosticStatus status = fakes_.output.Statuses("shadow_status").back();
  EXPECT_EQ(status.level, DiagnosticStatus::kWarn);
  EXPECT_THAT(KeysOf(status),
              ElementsAre("topic_time_stamp", "is_published", "is_incumbent_published", "compared",
                          "only_voxloc", "only_incumbent", "difference_x", "difference_y",
                          "difference_z", "difference_roll", "difference_pitch", "difference_yaw",
                          "difference_position", "difference_rotation"));
  EXPECT_EQ(ValueOf(status, "compared"), std::to_string(kScans));
  const auto differences = fakes_.output.Of<PoseStamped>(Topic::kIncumbentToResultRelativePose);
  ASSERT_EQ(differences.size(), static_cast<size_t>(kScans));
  EXPECT_EQ(differences[0].header.frame_id, "base_link");
  EXPECT_NEAR(differences[0].pose.translation.x(), 0.5, 0.05);
  EXPECT_THAT(fakes_.output.transforms(), IsEmpty());
  EXPECT_THAT(fakes_.log.lines(), Contains(HasSubstr("'odom'")));
}

}  // namespace
}  // namespace voxloc::ros
