// SPDX-License-Identifier: Apache-2.0
//
// Clients that leave their replies waiting: what they are sent is bounded, nothing of it is lost,
// and others are served.

#include <gtest/gtest.h>

#include "server/convert/pose.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

constexpr uint64_t kBudgetBytes = 1 << 20;

// Its reply has a cloud of 640 kB and is made without the engine: nothing is near the guess.
v1::Scan ScanWithALargeReply(uint64_t sequence) {
  constexpr size_t kPoints = 40'000;
  v1::Scan scan = GoodScan(sequence);
  PointCloud cloud;
  for (size_t i = 0; i < kPoints; ++i) cloud.PushBack(1.0F, 2.0F, 3.0F);
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(cloud);
  *scan.mutable_guess_map_t_base()->mutable_pose() =
      PoseOf({{1e4, 0.0, 0.0}, Eigen::Quaterniond::Identity()});
  return scan;
}

class SlowReaders : public ::testing::Test {
 protected:
  // With a window that is small and does not grow.
  void SetUp() override {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 128);
    server_.localization = v1::LocalizationService::NewStub(grpc::CreateCustomChannel(
        server_.server().address(), grpc::InsecureChannelCredentials(), arguments));
    server_.LoadTown();
  }

  static v1::OpenSession LargeReplies() {
    v1::OpenSession open = TownSession();
    open.mutable_setup()->mutable_output()->set_aligned_cloud(true);
    open.mutable_setup()->mutable_output()->set_point_scores(true);
    return open;
  }
  v1::SessionInfo InfoOf(const TestSession& session) {
    v1::ListSessionsResponse list;
    EXPECT_TRUE(server_.admin
                    ->ListSessions(TestServer::NewContext().get(), v1::ListSessionsRequest(), &list)
                    .ok());
    for (const v1::SessionInfo& info : list.sessions()) {
      if (info.session() == session.opened().session()) return info;
    }
    return {};
  }
  double Metric(const std::string& name) { return MetricsOf(server_)[name]; }

  TestServer server_{[](Config& config) {
    config.limits.max_reply_bytes = kBudgetBytes;
    config.limits.idle_timeout_s = kTimeoutS;
    config.limits.max_searches = 1;
    config.metrics_listen = "127.0.0.1:0";
  }};
  // Of a client that takes nothing; the others act within it on a loaded machine.
  static constexpr double kTimeoutS = 5.0;
};

TEST_F(SlowReaders, AreNotReadFromWhileTheBudgetIsSpent) {
  TestSession slow(server_);
  slow.Open(LargeReplies());
  // One after the other, until their replies are over the budget.
  uint64_t sent = 0;
  while (Metric("voxloc_reads_paused_total{reason=\"bytes\"}") == 0.0) {
    ASSERT_LT(sent, 8) << "never paused";
    slow.Send(ScanWithALargeReply(++sent));
    ASSERT_TRUE(Eventually([&] { return InfoOf(slow).answered() == sent; }));
  }
  EXPECT_GT(Metric("voxloc_reply_bytes"), static_cast<double>(kBudgetBytes));
  // Small enough for the connection to take.
  for (int i = 0; i < 2; ++i) slow.Send(GoodScan(++sent));
  // Others take what they are sent, and are served.
  TestSession quick(server_);
  quick.Open(LargeReplies());
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    EXPECT_EQ(quick.Align(GoodScan(sequence)).status(), v1::ALIGNMENT_STATUS_OK);
  }
  const v1::SessionInfo waiting = InfoOf(slow);
  EXPECT_EQ(waiting.answered(), sent - 2);
  EXPECT_EQ(waiting.unanswered(), 0);

  for (uint64_t sequence = 1; sequence <= sent; ++sequence) {
    EXPECT_EQ(slow.ReadResult().sequence(), sequence);
  }
  slow.HalfClose();
  EXPECT_TRUE(slow.Finish().ok());
  EXPECT_TRUE(Eventually([&] { return Metric("voxloc_reply_bytes") == 0.0; }));
}

TEST_F(SlowReaders, WhoTakeNothingAreGivenUp) {
  TestSession stuck(server_);
  stuck.Open(LargeReplies());
  for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
    stuck.Send(ScanWithALargeReply(sequence));
    ASSERT_TRUE(Eventually([&] { return InfoOf(stuck).answered() == sequence; }));
  }
  EXPECT_GT(Metric("voxloc_reply_bytes"), 0.0);
  // A short one, whatever it finds.
  v1::EstimateInitialPoseRequest request = PriorRequest(20);
  request.mutable_setup()->mutable_options()->set_profile("autoware");
  *request.mutable_scan()->mutable_clouds(0)->mutable_cloud() =
      CloudOf(ScanFrom(VehiclePose(), 100));
  request.set_report_particles(true);
  const auto context = TestServer::NewContext();
  const auto search = server_.localization->EstimateInitialPose(context.get(), request);
  EXPECT_TRUE(Eventually(
      [&] { return Metric("voxloc_streams_timed_out_total{reason=\"replies\"}") == 2.0; }));
  EXPECT_EQ(Search(server_, request).status.error_code(), grpc::StatusCode::OK);
  EXPECT_TRUE(Eventually([&] { return Metric("voxloc_reply_bytes") == 0.0; }));
  EXPECT_TRUE(Eventually([&] { return Metric("voxloc_sessions_active") == 0.0; }));
  // What it learns once it reads.
  while (stuck.Read().has_result()) {
  }
  EXPECT_EQ(stuck.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Listen(*search).status.error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace voxloc::server
