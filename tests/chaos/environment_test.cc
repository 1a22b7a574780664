// SPDX-License-Identifier: Apache-2.0
//
// Faults of what is around a server: the process is paused, the network goes silent, the disk is
// slow or full. Every scan still has its one result.

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "clients/cpp/align.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "tests/chaos/relay.h"
#include "tests/chaos/server_process.h"
#include "tests/chaos/town_load.h"
#include "tests/e2e/program_path.h"
#include "tests/server/map_calls.h"
#include "tests/server/maps/store/faulty_disk.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using server::TestServer;

client::Channel ChannelTo(const std::string& addresses, double keepalive_s = 20.0) {
  client::ChannelOptions options;
  options.server = addresses;
  options.keepalive_time_s = keepalive_s;
  options.keepalive_timeout_s = 1.0;
  auto channel = client::Channel::Create(options);
  EXPECT_TRUE(channel.ok()) << channel.status();
  return *std::move(channel);
}

// A session that sends scans and counts the results of each.
class CountedSession {
 public:
  explicit CountedSession(const client::Channel& channel) : drive_(TownDrive(200)) {
    client::SessionOptions options;
    options.open.mutable_setup()->set_map(kTown);
    options.open.mutable_setup()->set_vehicle("counted");
    options.reconnect.max_attempts = 100;
    options.on_result = [this](const v1::AlignmentResult& result) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++results_[result.sequence()];
      if (result.accepted()) ++accepted_;
    };
    auto session = client::LocalizationSession::Open(channel, options);
    EXPECT_TRUE(session.ok()) << session.status();
    if (session.ok()) session_ = *std::move(session);
  }

  void Send(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      client::ScanInput scan;
      const size_t index = drive_.IndexAt(sent_);
      scan.encoded_cloud = &drive_.scans[index];
      scan.guess_map_T_base = drive_.guesses_map_T_base[index];
      const auto sequence = session_->Send(scan);
      ASSERT_TRUE(sequence.ok()) << sequence.status();
      ++sent_;
    }
  }

  // Sends until one more is accepted.
  [[nodiscard]] bool AwaitAccepted() {
    const uint64_t before = accepted();
    return Eventually([&] {
      Send(1);
      return Eventually([&] { return accepted() > before; }, absl::Milliseconds(100));
    });
  }

  [[nodiscard]] uint64_t accepted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return accepted_;
  }
  [[nodiscard]] int reconnects() const { return session_->reconnects(); }

  // Every scan that was sent has its one result.
  void ExpectOneResultEach() {
    EXPECT_TRUE(session_->Close(30.0).ok());
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(results_.size(), sent_);
    for (const auto& [sequence, count] : results_) EXPECT_EQ(count, 1) << "scan " << sequence;
    EXPECT_EQ(session_->unexpected_results(), 0U);
  }

 private:
  const cli::LoadDrive drive_;
  mutable std::mutex mutex_;
  std::map<uint64_t, int> results_;
  uint64_t accepted_ = 0;
  uint64_t sent_ = 0;
  std::unique_ptr<client::LocalizationSession> session_;
};

TEST(PausedServer, AnswersEveryScanOnceAfterwardsAndDeadlinesAreKeptMeanwhile) {
  const ScratchDir scratch;
  ServerOptions options;
  options.program = ProgramPath(VOXLOC_CHAOS);
  options.threads = 1;
  const auto server = ServerProcess::Start(options, scratch.Path(""));
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE(LoadTown((*server)->address()).ok());
  const client::Channel channel = ChannelTo((*server)->address());
  CountedSession session(channel);
  ASSERT_TRUE(session.AwaitAccepted());
  (*server)->Signal(SIGSTOP);
  session.Send(20);
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map(kTown);
  *request.mutable_scan() = server::GoodScan();
  EXPECT_TRUE(absl::IsDeadlineExceeded(client::AlignScan(channel, request, 1.0).status()));
  (*server)->Signal(SIGCONT);
  EXPECT_TRUE(session.AwaitAccepted());
  EXPECT_EQ(session.reconnects(), 0);
  session.ExpectOneResultEach();
  EXPECT_TRUE(client::AlignScan(channel, request, 30.0).ok());
  EXPECT_EQ((*server)->End(SIGTERM), 0);
}

TEST(SilentNetwork, TheClientNoticesAndGoesToAnotherServer) {
  TestServer first;
  first.LoadTown();
  TestServer second;
  second.LoadTown();
  Relay relay(first.server().address());
  CountedSession session(
      ChannelTo(relay.address() + "," + second.server().address(), /*keepalive_s=*/1.0));
  ASSERT_TRUE(session.AwaitAccepted());
  relay.Stall();
  session.Send(3);
  EXPECT_TRUE(session.AwaitAccepted());
  EXPECT_EQ(session.reconnects(), 1);
  session.ExpectOneResultEach();
}

TEST(SilentNetwork, TheServerNoticesAndEndsTheSession) {
  TestServer server([](server::Config& config) {
    config.connections.keepalive_time_s = 0.5;
    config.connections.keepalive_timeout_s = 0.5;
    config.metrics_listen = "127.0.0.1:0";
  });
  server.LoadTown();
  const auto sessions = [&server] { return MetricsOf(server)["voxloc_sessions_active"]; };
  Relay relay(server.server().address());
  CountedSession session(ChannelTo(relay.address()));
  ASSERT_TRUE(session.AwaitAccepted());
  EXPECT_EQ(sessions(), 1.0);
  relay.Stall();
  EXPECT_TRUE(Eventually([&] { return sessions() == 0.0; }));
  EXPECT_TRUE(Eventually([&] { return MetricsOf(server)["voxloc_connections"] <= 1.0; }));
}

// A server whose maps lie on a disk that the test spoils.
class SpoiltDisk : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<TestServer> NewServer() const {
    return std::make_unique<TestServer>(
        [this](server::Config& config) { config.data_dir = scratch_.Path("maps"); });
  }
  static server::UpdateOutcome Commit(TestServer& server, const std::string& tile) {
    return server::RunUpdate(
        server, {server::BeginRequest(kTown, false), server::TileRequest(tile, server::SmallTown()),
                 server::CommitRequest()});
  }

  const ScratchDir scratch_;
  server::FaultyDisk disk_;
};

TEST_F(SpoiltDisk, ASlowOneHoldsUpCommitsAndNoScan) {
  const auto server = NewServer();
  server->LoadTown();
  CountedSession session(ChannelTo(server->server().address()));
  ASSERT_TRUE(session.AwaitAccepted());
  disk_.SlowDown(absl::Milliseconds(2));
  std::atomic<bool> committed{false};
  std::thread committing([&] {
    EXPECT_TRUE(Commit(*server, "slow").status.ok());
    committed = true;
  });
  uint64_t accepted_meanwhile = 0;
  while (!committed) {
    if (!session.AwaitAccepted()) break;
    if (!committed) ++accepted_meanwhile;
  }
  committing.join();
  EXPECT_GT(accepted_meanwhile, 0U);
  EXPECT_EQ(server::GetMap(*server).revision(), 2U);
  disk_.SlowDown(absl::ZeroDuration());
  session.ExpectOneResultEach();
}

TEST_F(SpoiltDisk, AFullOneRefusesCommitsAndHoldsUpNoScan) {
  auto server = NewServer();
  server->LoadTown();
  CountedSession session(ChannelTo(server->server().address()));
  ASSERT_TRUE(session.AwaitAccepted());
  disk_.SetRoom(0);
  EXPECT_EQ(Commit(*server, "too much").status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(session.AwaitAccepted());
  EXPECT_EQ(server::GetMap(*server).revision(), 1U);
  disk_.SetRoom(int64_t{1} << 30U);
  EXPECT_TRUE(Commit(*server, "again").status.ok());
  session.ExpectOneResultEach();
  server.reset();
  server = NewServer();
  EXPECT_TRUE(Eventually([&] {
    v1::GetMapRequest request;
    request.set_map(kTown);
    v1::GetMapResponse response;
    return server->maps->GetMap(TestServer::NewContext().get(), request, &response).ok() &&
           response.map().revision() == 2U;
  }));
}

}  // namespace
}  // namespace voxloc::chaos
