// SPDX-License-Identifier: Apache-2.0
//
// Excess, silent and idle connections are closed, and clients are served again below the limit.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/channel.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/raw_http2.h"
#include "tests/chaos/server_process.h"
#include "tests/e2e/program_path.h"
#include "tests/server/plain_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using server::MetricsOf;
using server::TestServer;

constexpr double kCloseTimeout_s = 30.0;

bool IsServed(TestServer& server) {
  const auto stub = v1::AdminService::NewStub(server.NewChannel());
  v1::GetServerInfoResponse response;
  return stub->GetServerInfo(TestServer::NewContext().get(), v1::GetServerInfoRequest(), &response)
      .ok();
}

TEST(Connections, OverTheLimitAreClosedAtOnceAndMadeAgainWhereThereIsRoom) {
  TestServer server([](server::Config& config) {
    config.connections.max_open = 3;
    config.metrics_listen = "127.0.0.1:0";
  });
  const auto metric = [&server](const std::string& name) { return MetricsOf(server)[name]; };
  std::vector<RawConnection> connections;
  for (int i = 0; i < 3; ++i) {
    connections.emplace_back(server.server().address());
    ASSERT_TRUE(connections.back().connected());
  }
  EXPECT_TRUE(Eventually([&] { return metric("voxloc_connections") == 3.0; }));
  const RawConnection refused(server.server().address());
  EXPECT_TRUE(refused.ClosedWithin(kCloseTimeout_s));
  EXPECT_GE(metric("voxloc_connections_refused_total{reason=\"limit\"}"), 1.0);
  EXPECT_FALSE(connections.front().ClosedWithin(0.0));
  connections.clear();
  EXPECT_TRUE(Eventually([&] { return IsServed(server); }));
  EXPECT_TRUE(Eventually([&] { return metric("voxloc_connections") <= 1.0; }));
}

TEST(Connections, ThatSayNothingAreClosedAfterTheHandshakeTimeout) {
  TestServer server([](server::Config& config) { config.connections.handshake_timeout_s = 0.3; });
  const RawConnection silent(server.server().address());
  ASSERT_TRUE(silent.connected());
  EXPECT_TRUE(silent.ClosedWithin(kCloseTimeout_s));
  EXPECT_TRUE(IsServed(server));
}

struct ReceivedFrame {
  FrameType type;
  uint8_t flags;
  std::string payload;
};

// The frames that are whole.
std::vector<ReceivedFrame> FramesIn(const std::string& bytes) {
  std::vector<ReceivedFrame> frames;
  const auto byte = [&bytes](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  constexpr size_t kHead = 9;
  for (size_t at = 0; at + kHead <= bytes.size();) {
    const size_t length =
        size_t{byte(at)} << 16U | size_t{byte(at + 1)} << 8U | size_t{byte(at + 2)};
    if (at + kHead + length > bytes.size()) break;
    frames.push_back(
        {static_cast<FrameType>(byte(at + 3)), byte(at + 4), bytes.substr(at + kHead, length)});
    at += kHead + length;
  }
  return frames;
}

// Of a SETTINGS frame: the initial window of streams, RFC 9113 section 6.5.2; -1: not in it.
int64_t WindowIn(const std::string& settings) {
  for (size_t at = 0; at + 6 <= settings.size(); at += 6) {
    uint64_t value = 0;
    for (size_t i = 0; i < 6; ++i) value = value << 8U | static_cast<uint8_t>(settings[at + i]);
    if (value >> 32U == 4) return static_cast<int64_t>(value & 0xFFFFFFFFU);
  }
  return -1;
}

TEST(Connections, HaveTheWindowOfTheConfigurationAndDoNotProbeForALargerOne) {
  constexpr uint32_t kWindow = 200'000;
  TestServer server(
      [](server::Config& config) { config.connections.stream_window_bytes = kWindow; });
  const RawConnection client(server.server().address());
  ASSERT_TRUE(client.connected());
  ASSERT_TRUE(client.Send(
      ClientPreface() +
      Frame(FrameType::kHeaders, kEndHeaders, 1, CallHeaders("/voxloc.v1.MapService/ListMaps")) +
      MessageFrame(1, "") + Frame(FrameType::kData, kEndStream, 1, "")));
  std::string received;
  const auto is_answered = [](const std::vector<ReceivedFrame>& frames) {
    return std::any_of(frames.begin(), frames.end(), [](const ReceivedFrame& frame) {
      return frame.type == FrameType::kHeaders && (frame.flags & kEndStream) != 0;
    });
  };
  while (!is_answered(FramesIn(received))) {
    ASSERT_TRUE(client.Receive(kCloseTimeout_s, &received)) << "closed after " << received.size();
  }
  int64_t window = -1;
  for (const ReceivedFrame& frame : FramesIn(received)) {
    if (frame.type == FrameType::kSettings && window < 0) window = WindowIn(frame.payload);
    // By which gRPC would measure the link.
    EXPECT_NE(frame.type, FrameType::kPing);
  }
  EXPECT_EQ(window, kWindow);
}

TEST(Connections, WithoutACallAreClosedAfterTheIdleTimeout) {
  TestServer server([](server::Config& config) {
    config.connections.idle_timeout_s = 0.3;
    config.metrics_listen = "127.0.0.1:0";
  });
  const auto channel = server.NewChannel();
  const auto stub = v1::AdminService::NewStub(channel);
  const auto is_served = [&stub] {
    v1::GetServerInfoResponse response;
    return stub
        ->GetServerInfo(TestServer::NewContext().get(), v1::GetServerInfoRequest(), &response)
        .ok();
  };
  ASSERT_TRUE(is_served());
  EXPECT_TRUE(Eventually([&] { return channel->GetState(false) == GRPC_CHANNEL_IDLE; }));
  EXPECT_TRUE(Eventually([&] { return MetricsOf(server)["voxloc_connections"] == 0.0; }));
  EXPECT_TRUE(is_served());  // over another connection
}

TEST(Connections, WithoutDescriptorsAreRefusedAndTheServerGoesOn) {
  if (absl::StrContains(VOXLOC_SANITIZE, "undefined")) {
    GTEST_SKIP()
        << "UndefinedBehaviorSanitizer needs descriptors of its own to check an object's type";
  }
  constexpr size_t kOpenFiles = 96;
  const ScratchDir scratch;
  ServerOptions options;
  options.program = ProgramPath(VOXLOC_CHAOS);
  options.threads = 1;
  options.max_open_files = kOpenFiles;
  options.settings = {"connections.max-open=1000"};
  const auto server = ServerProcess::Start(options, scratch.Path(""));
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<RawConnection> connections;
  for (size_t i = 0; i < 2 * kOpenFiles; ++i) {
    connections.emplace_back((*server)->address());
    ASSERT_TRUE(connections.back().connected());
  }
  EXPECT_TRUE(connections.back().ClosedWithin(kCloseTimeout_s));
  EXPECT_GE(SampleProcess((*server)->pid()).descriptors, kOpenFiles - 4.0);
  connections.clear();
  client::ChannelOptions channel_options;
  channel_options.server = (*server)->address();
  const auto channel = client::Channel::Create(channel_options);
  ASSERT_TRUE(channel.ok()) << channel.status();
  EXPECT_TRUE(Eventually([&] { return client::GetServerInfo(*channel, 5.0).ok(); }));
  EXPECT_GT((*server)->Metrics()["voxloc_connections_refused_total{reason=\"descriptors\"}"], 0.0);
  EXPECT_EQ((*server)->End(SIGTERM), 0);
}

}  // namespace
}  // namespace voxloc::chaos
