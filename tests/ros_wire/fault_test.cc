// SPDX-License-Identifier: Apache-2.0
//
// What happens to the server and to the link under a bridge on the wire: the bridge recovers by
// itself, its diagnostics say what is wrong meanwhile, and each scan has its one status.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/ros_wire/bridge_test.h"
#include "tests/ros_wire/slow_link.h"

namespace voxloc::ros_wire {
namespace {

class FaultsOnTheWire : public BridgeTest {
 protected:
  // Without a limit on the age of scans, since these tests go by the time of a machine that may be
  // busy.
  [[nodiscard]] static ros::Parameters Patient(const std::string& server) {
    ros::Parameters parameters = Defaults();
    parameters.voxloc.server = server;
    parameters.sensor_points.timeout_sec = 60.0;
    return parameters;
  }

  // Sends the next scan until one is found.
  [[nodiscard]] bool IsFoundEventually() {
    const size_t before = peer().poses_received();
    return Eventually([&] {
      const std::optional<Diagnostic> status = SendNext();
      return status.has_value() && status->level == kLevelOk &&
             Eventually([&] { return peer().poses_received() > before; }, absl::Seconds(1));
    });
  }

  // Sends the next scan until the diagnostics of the connection have the level, as `wanted` has it.
  [[nodiscard]] bool IsReportedEventually(const std::function<bool(int)>& wanted) {
    return Eventually([&] {
      (void)SendNext();
      const auto status = Newest(kServerStatus);
      return status.has_value() && wanted(status->level);
    });
  }

  // As a LiDAR that goes on: a scan that waits for a lost server has its status when the next one
  // takes its place.
  std::optional<Diagnostic> SendNext() {
    return SendScanNow(next_++ % drive().clouds.size(), absl::Milliseconds(300));
  }

  ScratchDir scratch_;
  size_t next_ = 0;
};

bool IsOk(int level) { return level == kLevelOk; }
bool IsNotOk(int level) { return level > kLevelOk; }

TEST_F(FaultsOnTheWire, TheNodeOutlivesRestartsOfTheServer) {
  std::filesystem::create_directories(scratch_.Path("server"));
  TownServer server;
  ASSERT_NO_FATAL_FAILURE(
      StartTownServer("cpu", scratch_.Path("server"), drive().map.parent_path(), &server));
  ros::Parameters parameters = Patient(server.address);
  parameters.sensor_points.timeout_sec = 2.0;  // so long a scan waits for the server
  ASSERT_NO_FATAL_FAILURE(Start(parameters, false));
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  ASSERT_TRUE(IsFoundEventually());
  EXPECT_TRUE(IsReportedEventually(IsOk));

  EXPECT_EQ(server.process->Stop(), 0);
  EXPECT_TRUE(IsReportedEventually(IsNotOk)) << "the server is gone, and the node is content";
  // The newest one too, whose place no other scan takes.
  EXPECT_TRUE(Eventually([&] { return peer().scan_statuses_received() >= clouds_sent(); }))
      << "a scan waits for the server without a status";
  (void)SendNext();
  const std::optional<Diagnostic> refused = SendNext();
  ASSERT_TRUE(refused.has_value());
  EXPECT_GT(refused->level, kLevelOk) << refused->message;
  const size_t before = peer().poses_received();

  ASSERT_NO_FATAL_FAILURE(LaunchServer("cpu", scratch_.Path("server"), server.address, &server));
  EXPECT_TRUE(IsFoundEventually()) << "no pose after the restart";
  EXPECT_TRUE(IsReportedEventually(IsOk));
  EXPECT_GT(peer().poses_received(), before);
  // Nobody had to activate it again.
  EXPECT_TRUE(node().bridge().is_activated());
  StopBridge();
  EXPECT_EQ(server.process->Stop(), 0);
}

TEST_F(FaultsOnTheWire, TheServerMayComeAfterTheNode) {
  std::filesystem::create_directories(scratch_.Path("server"));
  TownServer server;
  ASSERT_NO_FATAL_FAILURE(
      StartTownServer("cpu", scratch_.Path("server"), drive().map.parent_path(), &server));
  EXPECT_EQ(server.process->Stop(), 0);
  ASSERT_NO_FATAL_FAILURE(Start(Patient(server.address), false));
  const auto activated = peer().CallTrigger(true, kTestTimeout);
  ASSERT_TRUE(activated.has_value() && activated->success);
  EXPECT_TRUE(IsReportedEventually(IsNotOk));
  const std::optional<Diagnostic> refused = SendScanNow(0);
  ASSERT_TRUE(refused.has_value());
  EXPECT_GT(refused->level, kLevelOk);
  EXPECT_NE(refused->message, "OK");
  const auto lost =
      peer().CallAlign({absl::ToUnixNanos(absl::Now()), "map", Pose(), {}}, kTestTimeout);
  ASSERT_TRUE(lost.has_value()) << "the service hangs without a server";
  EXPECT_FALSE(lost->success);

  ASSERT_NO_FATAL_FAILURE(LaunchServer("cpu", scratch_.Path("server"), server.address, &server));
  EXPECT_TRUE(IsFoundEventually());
  EXPECT_TRUE(IsReportedEventually(IsOk));
  StopBridge();
  EXPECT_EQ(server.process->Stop(), 0);
}

// The scans are sent as a LiDAR sends them, whether or not the last one was answered.
TEST_F(FaultsOnTheWire, ASlowLinkThatLosesLeavesEachScanItsStatus) {
  SlowLinkOptions slow;
  slow.server_address = shared_server().address;
  slow.one_way_delay = absl::Milliseconds(50);
  slow.segment_loss = 0.02;
  auto link = SlowLink::Start(slow);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_NO_FATAL_FAILURE(Start(Patient(absl::StrCat("127.0.0.1:", (*link)->port())), false));
  ASSERT_TRUE(peer().CallTrigger(true, kTestTimeout).has_value());
  ASSERT_TRUE(IsFoundEventually());
  ASSERT_TRUE(Eventually([&] { return peer().scan_statuses_received() == clouds_sent(); }));
  (void)peer().TakeDiagnostics();
  (void)peer().TakePoses();
  (void)peer().TakeTransforms();

  constexpr size_t kScans = 40;
  const size_t statuses_before = peer().scan_statuses_received();
  std::map<int64_t, Pose> truth;
  for (size_t i = 0; i < kScans; ++i) {
    const int64_t stamp_ns = absl::ToUnixNanos(absl::Now());
    truth[stamp_ns] = drive().truth[i].pose;
    GivePose(stamp_ns, drive().guessed[i].pose);
    peer().Publish(XyzCloud(drive().clouds[i], stamp_ns, kBaseFrame));
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_TRUE(Eventually([&] {
    return peer().scan_statuses_received() >= statuses_before + kScans;
  })) << peer().scan_statuses_received() - statuses_before
      << " statuses";
  EXPECT_GT((*link)->lost_segments(), 0U);

  std::multiset<std::string> reported;
  size_t found = 0;
  for (const Diagnostic& status : peer().TakeDiagnostics()) {
    if (status.name != "ndt_scan_matcher: scan_matching_status") continue;
    reported.insert(status.Find("topic_time_stamp").value_or(""));
    if (status.level == kLevelOk) ++found;
  }
  EXPECT_EQ(reported.size(), kScans);
  for (const auto& [stamp_ns, pose] : truth) {
    EXPECT_EQ(reported.count(absl::StrCat(stamp_ns)), 1U);
  }
  // Of two scans that wait for the link only the newer is sent, so that not all are found.
  EXPECT_GT(found, kScans / 4);
  const std::vector<StampedPose> poses = peer().TakePoses();
  EXPECT_GE(poses.size(), found);
  for (const StampedPose& pose : poses) {
    ASSERT_EQ(truth.count(pose.stamp_ns), 1U) << pose.stamp_ns;
    EXPECT_LT(TranslationDistance(pose.frame_T_base, truth[pose.stamp_ns]), 0.15);
  }
  // The bridge holds connections through the link, which ends with this function.
  StopBridge();
}

}  // namespace
}  // namespace voxloc::ros_wire
