// SPDX-License-Identifier: Apache-2.0
//
// Streams whose clients do not begin, or fall silent, end and give back what they occupy.

#include <gtest/gtest.h>

#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

// Longer than a client that is not silent takes between two messages on a loaded machine.
constexpr double kTimeoutS = 2.0;

void ExpectTimeout(const grpc::Status& status, const std::string& reason) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReasonOf(status), reason);
}

TEST(UnopenedStreams, EndAfterATime) {
  TestServer server([](Config& config) {
    config.limits.open_timeout_s = kTimeoutS;
    config.metrics_listen = "127.0.0.1:0";
  });
  TestSession session(server);
  TestUpdate update(server);
  const auto context = TestServer::NewContext();
  const auto scores = server.localization->ScorePoses(context.get());
  EXPECT_EQ(session.Read().response_case(), v1::AlignScansResponse::RESPONSE_NOT_SET);
  ExpectTimeout(session.Finish(), "OPEN_TIMEOUT");
  ExpectTimeout(update.Finish(), "OPEN_TIMEOUT");
  ExpectTimeout(scores->Finish(), "OPEN_TIMEOUT");
  EXPECT_EQ(MetricsOf(server)["voxloc_streams_timed_out_total{reason=\"open\"}"], 3.0);
}

TEST(UnopenedStreams, AreCounted) {
  TestServer server([](Config& config) { config.limits.max_unopened_streams = 1; });
  server.LoadTown();
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("town");
  // Either stream may reach the server first: tried until the one that waits does.
  const auto second_is_refused = [&] {
    TestSession waiting(server);
    TestSession second(server);
    second.Send(open);
    if (second.Read().has_opened()) return false;
    const grpc::Status status = second.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(status), "TOO_MANY_UNOPENED_STREAMS");
    waiting.Send(open);
    return waiting.Read().has_opened();
  };
  EXPECT_TRUE(Eventually(second_is_refused));
  TestSession other(server);
  other.Open();
}

TEST(SilentStreams, GiveTheirPlacesBack) {
  TestServer server([](Config& config) {
    config.limits.idle_timeout_s = kTimeoutS;
    config.limits.max_map_transactions = 1;
    config.limits.max_scoring_streams = 1;
    config.limits.max_sessions = 1;
    config.metrics_listen = "127.0.0.1:0";
  });
  server.LoadTown();
  TestUpdate update(server);
  update.Write(BeginRequest("town", false));
  ASSERT_TRUE(update.Read().has_begun());
  update.Write(TileRequest("another", SmallTown()));
  ASSERT_TRUE(update.Read().has_tile_added());
  TestSession session(server);
  session.Open();
  const auto context = TestServer::NewContext();
  const auto scores = server.localization->ScorePoses(context.get());
  v1::ScorePosesRequest setup;
  setup.mutable_setup()->mutable_setup()->set_map("town");
  *setup.mutable_setup()->mutable_scan() = GoodScan();
  ASSERT_TRUE(scores->Write(setup));
  v1::ScorePosesResponse ready;
  ASSERT_TRUE(scores->Read(&ready));

  ExpectTimeout(update.Finish(), "IDLE_TIMEOUT");
  EXPECT_FALSE(session.Read().has_result());
  ExpectTimeout(session.Finish(), "IDLE_TIMEOUT");
  ExpectTimeout(scores->Finish(), "IDLE_TIMEOUT");
  EXPECT_EQ(MetricsOf(server)["voxloc_streams_timed_out_total{reason=\"idle\"}"], 3.0);

  server.LoadTown();
  TestSession next(server);
  next.Open();
  EXPECT_EQ(next.opened().map_revision(), 2);  // what was not committed has changed nothing
}

TEST(SilentStreams, OfTheClientsSessionOpenAgain) {
  TestServer server([](Config& config) { config.limits.idle_timeout_s = kTimeoutS; });
  server.LoadTown();
  client::ChannelOptions channel_options;
  channel_options.server = server.server().address();
  const auto channel = client::Channel::Create(channel_options).value();
  client::SessionOptions options;
  options.open.mutable_setup()->set_map("town");
  auto session = client::LocalizationSession::Open(channel, options).value();
  ASSERT_TRUE(Eventually([&session] { return session->reconnects() > 0; }));
  const PointCloud cloud = ScanFrom(VehiclePose());
  client::ScanInput scan;
  scan.cloud = &cloud;
  scan.guess_map_T_base = VehiclePose();
  const auto sequence = session->Send(scan).value();
  const auto result = session->ReceiveResultOf(sequence, 30.0).value();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
}

}  // namespace
}  // namespace voxloc::server
