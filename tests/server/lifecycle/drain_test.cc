// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "tests/server/gated_engine.h"
#include "tests/server/lifecycle/health_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Longer than any test takes: what waits for it waits for something else.
constexpr double kForeverS = 600.0;

void WithoutEnd(Config& config) { config.drain_timeout_s = kForeverS; }

grpc::Status TryToDrain(TestServer& server, double grace_s, const std::string& reason,
                        v1::DrainResponse* response) {
  v1::DrainRequest request;
  request.set_grace_s(grace_s);
  request.set_reason(reason);
  return server.admin->Drain(TestServer::NewContext().get(), request, response);
}

v1::DrainResponse AskToDrain(TestServer& server, double grace_s, const std::string& reason = "") {
  v1::DrainResponse response;
  const grpc::Status status = TryToDrain(server, grace_s, reason, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(Drain, NotifiesSessionsAndWaitsForTheirEnd) {
  TownServer server([](Config& config) { config.drain_timeout_s = 60.0; });
  TestSession session(server, "town");
  std::thread drain([&server] { server.server().Drain(); });
  const v1::AlignScansResponse notice = session.Read();
  EXPECT_TRUE(notice.has_draining()) << notice.ShortDebugString();
  EXPECT_NE(notice.draining().reason(), "");
  EXPECT_GT(notice.draining().remaining_s(), 0.0);
  EXPECT_LE(notice.draining().remaining_s(), 60.0);
  session.Send(GoodScan(2));  // still answered
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_TRUE(session.Close().ok());
  drain.join();  // long before its minute is over
}

TEST(Drain, AnswersEveryScanItHasReceivedBeforeItEndsAStream) {
  const auto gate = std::make_shared<Gate>();
  TownServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; },
                    std::make_unique<GatedEngine>(gate));
  TestSession session(server, TownSession("limits { max_waiting_scans: 3 }"));
  gate->Close();
  session.Send(GoodScan(1));
  gate->AwaitBatches(1);
  for (uint64_t sequence = 2; sequence <= 4; ++sequence) session.Send(GoodScan(sequence));
  ASSERT_TRUE(
      Eventually([&server] { return MetricsOf(server)["voxloc_scans_received_total"] == 4.0; }));
  // Ends the streams at once; they wait for their answers.
  AskToDrain(server, 0.0);
  EXPECT_TRUE(session.Read().has_draining());
  gate->Open();
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
    const v1::AlignmentResult result = session.ReadResult();
    EXPECT_EQ(result.sequence(), sequence);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  }
  EXPECT_FALSE(session.Read().has_result());
  const grpc::Status end = session.Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(end), "DRAINING");
}

// Somebody watches the readiness, so there is a delay, and nothing but the first step happens.
TEST(Drain, IsFirstNotReadyAndRefusesWhileItStillListens) {
  TownServer server([](Config& config) {
    config.metrics_listen = "127.0.0.1:0";
    config.drain_delay_s = kForeverS;
    config.drain_timeout_s = kForeverS;
  });
  EXPECT_EQ(PageOf(server, "/readyz"), "200 ready\n");
  TestSession session(server, "town");
  const v1::DrainResponse response = AskToDrain(server, 2.0 * kForeverS, "new version");
  EXPECT_EQ(response.open_sessions(), 1u);
  EXPECT_GT(response.remaining_s(), kForeverS);
  EXPECT_LE(response.remaining_s(), 2.0 * kForeverS);

  EXPECT_THAT(PageOf(server, "/readyz"), StartsWith("503 not ready: draining"));
  EXPECT_THAT(PageOf(server, "/readyz/maps/town"), StartsWith("503 not ready: draining"));
  EXPECT_EQ(PageOf(server, "/livez"), "200 alive\n");
  EXPECT_EQ(HealthOf(server, ""), kHealthServing);
  EXPECT_EQ(HealthOf(server, kLocalizationName), kHealthNotServing);
  EXPECT_EQ(HealthOf(server, "voxloc.v1.MapService"), kHealthNotServing);
  EXPECT_EQ(HealthOf(server, "voxloc.v1.LocalizationService/town"), kHealthNotServing);
  EXPECT_EQ(StateOf(server), v1::SERVER_STATE_DRAINING);
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_server_state{state=\"draining\"}"], 1.0);
  EXPECT_EQ(metrics.at("voxloc_server_ready"), 0.0);
  EXPECT_EQ(metrics.at("voxloc_drain_sessions_told_total"), 0.0);
  EXPECT_GT(metrics["voxloc_drain_remaining_seconds"], kForeverS);

  const grpc::Status refused = OpenError(server);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(refused), "DRAINING");
  TestUpdate update(server);
  update.Write(BeginRequest("other"));
  EXPECT_FALSE(update.Read().has_begun());
  EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  EXPECT_EQ(session.Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_OK);  // not told yet
  // The rest shrinks with the time that is left, and the session is told, then ended.
  AskToDrain(server, 0.0, "hurry");
  const v1::AlignScansResponse notice = session.Read();
  ASSERT_TRUE(notice.has_draining()) << notice.ShortDebugString();
  EXPECT_EQ(notice.draining().reason(), "new version");
  EXPECT_FALSE(session.Read().has_result());
  EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(
      Eventually([&server] { return MetricsOf(server)["voxloc_drain_remaining_seconds"] == 0.0; }));
  EXPECT_EQ(MetricsOf(server)["voxloc_drain_sessions_told_total"], 1.0);
  EXPECT_EQ(StateOf(server), v1::SERVER_STATE_DRAINING);  // it does not end itself
  server.server().Drain();                                // nothing is left to wait for
}

TEST(Drain, IsTakenBackAndBeginsAnew) {
  TownServer server([](Config& config) {
    config.metrics_listen = "127.0.0.1:0";
    config.drain_delay_s = kForeverS;
    config.drain_timeout_s = kForeverS;
  });
  const auto undrain = [&server](v1::UndrainResponse* response) {
    return server.admin->Undrain(TestServer::NewContext().get(), v1::UndrainRequest(), response);
  };
  v1::UndrainResponse response;
  EXPECT_EQ(undrain(&response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(PageOf(server, "/readyz"), "200 ready\n");
  TestSession session(server, "town");
  for (int i = 0; i < 2; ++i) {
    AskToDrain(server, 2.0 * kForeverS);
    EXPECT_EQ(ReasonOf(OpenError(server)), "DRAINING");
    ASSERT_TRUE(undrain(&response).ok());
    EXPECT_EQ(response.open_sessions(), 1u);
    EXPECT_EQ(PageOf(server, "/readyz"), "200 ready\n");
    EXPECT_EQ(StateOf(server), v1::SERVER_STATE_SERVING);
    EXPECT_EQ(MetricsOf(server)["voxloc_drain_remaining_seconds"], 0.0);
    EXPECT_EQ(session.Align(GoodScan(1 + 2 * i)).status(), v1::ALIGNMENT_STATUS_OK);
    TestSession another(server, "town");
    EXPECT_TRUE(another.Close().ok());
  }
  EXPECT_TRUE(session.Close().ok());
  // Also one that is over.
  AskToDrain(server, 0.0);
  EXPECT_TRUE(Eventually([&] { return undrain(&response).ok(); }));
  TestSession again(server, "town");
  EXPECT_EQ(again.Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_TRUE(again.Close().ok());
}

TEST(Drain, OfAServerThatIsBeingStoppedIsNotTakenBack) {
  TownServer server([](Config& config) { config.drain_timeout_s = kForeverS; });
  TestSession session(server, "town");
  std::thread drain([&server] { server.server().Drain(); });
  EXPECT_TRUE(session.Read().has_draining());
  v1::UndrainResponse response;
  const grpc::Status refused =
      server.admin->Undrain(TestServer::NewContext().get(), v1::UndrainRequest(), &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("being stopped"));
  EXPECT_TRUE(session.Close().ok());
  drain.join();
}

TEST(Drain, TellsSessionsOneAfterAnother) {
  TownServer server([](Config& config) {
    config.drain_spread_s = kForeverS;
    config.drain_timeout_s = kForeverS;
  });
  std::vector<std::unique_ptr<TestSession>> sessions;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(std::make_unique<TestSession>(server, "town"));
  }
  // Nobody watches the readiness, so that the first is told at once; the second's turn is far away.
  AskToDrain(server, 2.0 * kForeverS);
  EXPECT_TRUE(sessions[0]->Read().has_draining());
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(sessions[i]->Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_OK);
  }
  // What is left is spread over less.
  const v1::DrainResponse response = AskToDrain(server, 12.0);
  EXPECT_EQ(response.open_sessions(), 3u);
  const v1::AlignScansResponse second = sessions[1]->Read();
  const v1::AlignScansResponse third = sessions[2]->Read();
  ASSERT_TRUE(second.has_draining());
  ASSERT_TRUE(third.has_draining());
  EXPECT_GT(second.draining().remaining_s(), third.draining().remaining_s());
  EXPECT_GT(third.draining().remaining_s(), 0.0);
  for (const auto& session : sessions) EXPECT_TRUE(session->Close().ok());
}

TEST(Drain, CanOnlyBeShortened) {
  TownServer server(WithoutEnd);
  TestSession session(server, "town");
  EXPECT_LE(AskToDrain(server, 300.0).remaining_s(), 300.0);
  EXPECT_LE(AskToDrain(server, kForeverS).remaining_s(), 300.0);
  const double shorter_s = AskToDrain(server, 100.0).remaining_s();
  EXPECT_LE(shorter_s, 100.0);
  EXPECT_GT(shorter_s, 0.0);
}

TEST(Drain, IsAskedForByTheClientLibrary) {
  TownServer server(WithoutEnd);
  TestSession session(server, "town");
  client::ChannelOptions options;
  options.server = server.server().address();
  const auto channel = client::Channel::Create(options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  const auto response = client::Drain(*channel, 60.0, "maintenance", 30.0);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->open_sessions(), 1u);
  EXPECT_LE(response->remaining_s(), 60.0);
  EXPECT_EQ(session.Read().draining().reason(), "maintenance");
  EXPECT_EQ(client::Drain(*channel, -1.0, "", 30.0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Drain, RefusesTimesAndReasonsThatAreNone) {
  TestServer server;
  v1::DrainResponse response;
  for (const double grace_s : {-1.0, std::nan(""), HUGE_VAL}) {
    const grpc::Status status = TryToDrain(server, grace_s, "", &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << grace_s;
    EXPECT_THAT(status.error_message(), HasSubstr("grace_s"));
  }
  EXPECT_EQ(TryToDrain(server, 0.0, std::string(257, 'x'), &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(StateOf(server), v1::SERVER_STATE_SERVING);
}

TEST(Drain, SendsThoseWhoWatchMapsElsewhere) {
  TownServer server(WithoutEnd);
  const auto context = TestServer::NewContext();
  const auto watch = server.maps->WatchMap(context.get(), v1::WatchMapRequest());
  v1::WatchMapResponse response;
  ASSERT_TRUE(watch->Read(&response));
  server.server().Drain();  // waits for nothing else
  EXPECT_FALSE(watch->Read(&response));
  const grpc::Status end = watch->Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(end), "DRAINING");
}

TEST(Drain, EndsStreamsThatHaveNoSession) {
  TestServer server(WithoutEnd);
  TestSession silent(server);
  AskToDrain(server, kForeverS);
  EXPECT_FALSE(silent.Read().has_opened());
  EXPECT_EQ(silent.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Drain, LetsATransactionFinish) {
  TestServer server([](Config& config) {
    config.drain_spread_s = 0.0;
    config.drain_timeout_s = kForeverS;
  });
  TestUpdate update(server);
  update.Write(BeginRequest("town"));
  ASSERT_TRUE(update.Read().has_begun());
  AskToDrain(server, kForeverS);
  update.Write(TileRequest("town", SmallTown()));
  EXPECT_TRUE(update.Read().has_tile_added());
  update.Write(CommitRequest());
  EXPECT_TRUE(update.Read().has_committed());
  EXPECT_TRUE(update.Finish().ok());
}

TEST(Drain, WaitsForNobodyWhereNobodyCouldKnow) {
  TownServer server([](Config& config) { config.drain_delay_s = kForeverS; });
  EXPECT_EQ(HealthOf(server, ""), kHealthServing);  // liveness sends nobody here
  server.server().Drain();
}

}  // namespace
}  // namespace voxloc::server
