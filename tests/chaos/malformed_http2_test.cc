// SPDX-License-Identifier: Apache-2.0
//
// Connections that violate or misuse HTTP/2 (RFC 9113, 10.5): the server closes or tolerates them,
// keeps serving a vehicle, and its memory stays bounded.

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cpp/align.h"
#include "clients/cpp/channel.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/raw_http2.h"
#include "tests/chaos/server_process.h"
#include "tests/chaos/town_load.h"
#include "tests/e2e/program_path.h"
#include "tests/server/small_town.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

constexpr char kAlignScans[] = "/voxloc.v1.LocalizationService/AlignScans";
// What a flood sends at most, where the server does not end it: two million empty frames.
constexpr size_t kFloodBytes = size_t{16} << 20U;
// Each SETTINGS frame is acknowledged by itself, which takes the server longest.
constexpr size_t kSettingsFloodBytes = size_t{4} << 20U;
// Memory of gRPC 1.51 under two concurrent floods: measured below 600 MB with 192 MiB of each kind.
// Without a bound, two floods of 16 MiB of pings would take a gigabyte.
constexpr double kMaxGrowth_bytes = 640 << 20;
constexpr double kHttp2CloseTimeout_s = 30.0;
// Sanitizers keep what is freed, to notice its use.
constexpr bool kMemoryIsMeasurable = absl::string_view(VOXLOC_SANITIZE).empty();

// Repeats the bytes until so many are sent or the server takes no more.
void Flood(const RawConnection& connection, const std::string& bytes,
           size_t flood_bytes = kFloodBytes) {
  std::string many;
  while (many.size() < 65'536) many += bytes;
  for (size_t sent = 0; sent < flood_bytes && connection.Send(many); sent += many.size()) {
  }
}

struct Attack {
  std::string name;
  std::function<void(const RawConnection&)> run;
  bool is_closed = false;  // the server must end the connection
};

std::string Open(uint32_t stream, uint8_t flags = kEndHeaders) {
  return Frame(FrameType::kHeaders, flags, stream, CallHeaders(kAlignScans));
}

std::vector<Attack> Attacks() {
  std::vector<Attack> attacks;
  attacks.push_back(
      {"BadPreface",
       [](const RawConnection& connection) { connection.Send("PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n"); },
       true});
  attacks.push_back({"RandomBytes",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() + std::string(4096, '\xa5'));
                     },
                     true});
  attacks.push_back({"OversizedFrame",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() + Open(1));
                       connection.Send(FrameWithLength(0xffffff, FrameType::kData, 0, 1, ""));
                       Flood(connection, std::string(16'384, 'x'));
                     },
                     true});
  attacks.push_back(
      {"HeadersOnStreamZero",
       [](const RawConnection& connection) { connection.Send(ClientPreface() + Open(0)); }, false});
  attacks.push_back({"ContinuationWithoutHeaders",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() +
                                       Frame(FrameType::kContinuation, kEndHeaders, 1, ""));
                     },
                     true});
  attacks.push_back({"ContinuationFlood",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() + Open(1, 0));
                       std::vector<std::pair<std::string, std::string>> headers;
                       for (int i = 0; i < 60; ++i) {
                         headers.emplace_back("x-chaos", std::string(100, 'c'));
                       }
                       Flood(connection,
                             Frame(FrameType::kContinuation, 0, 1, HeaderBlock(headers)));
                     },
                     false});
  attacks.push_back(
      {"RapidReset",
       [](const RawConnection& connection) {
         connection.Send(ClientPreface());
         const std::string code(4, '\0');
         for (uint32_t stream = 1; stream < 40'000; stream += 2) {
           if (!connection.Send(Open(stream) + Frame(FrameType::kResetStream, 0, stream, code))) {
             return;
           }
         }
       },
       false});
  attacks.push_back({"SettingsFlood",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface());
                       Flood(connection, Frame(FrameType::kSettings, 0, 0, ""),
                             kSettingsFloodBytes);
                     },
                     false});
  attacks.push_back({"PingFlood",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface());
                       Flood(connection, Frame(FrameType::kPing, 0, 0, std::string(8, 'p')));
                     },
                     false});
  attacks.push_back({"EmptyDataFlood",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() + Open(1));
                       Flood(connection, Frame(FrameType::kData, 0, 1, ""));
                     },
                     false});
  attacks.push_back({"TruncatedMessage",
                     [](const RawConnection& connection) {
                       const std::string message =
                           ClientPreface() + Open(1) + MessageFrame(1, std::string(1000, 'm'));
                       connection.Send(message.substr(0, message.size() - 500));
                     },
                     false});
  attacks.push_back({"MessageThatIsNone",
                     [](const RawConnection& connection) {
                       connection.Send(ClientPreface() + Open(1) +
                                       MessageFrame(1, std::string(1000, '\xff')));
                     },
                     false});
  return attacks;
}

class MalformedHttp2 : public ::testing::TestWithParam<Attack> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchDir();
    ServerOptions options;
    options.program = ProgramPath(VOXLOC_CHAOS);
    options.threads = 1;
    auto server = ServerProcess::Start(options, folder_->Path(""));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = server->release();
    ASSERT_TRUE(LoadTown(server_->address()).ok());
  }
  static void TearDownTestSuite() {
    if (server_ != nullptr) {
      EXPECT_EQ(server_->End(SIGTERM), 0);
    }
    delete server_;
    delete folder_;
    server_ = nullptr;
    folder_ = nullptr;
  }

  // A vehicle over a connection of its own.
  static void ExpectServed() {
    client::ChannelOptions options;
    options.server = server_->address();
    const auto channel = client::Channel::Create(options);
    ASSERT_TRUE(channel.ok()) << channel.status();
    v1::AlignScanRequest request;
    request.mutable_setup()->set_map(kTown);
    *request.mutable_scan() = server::GoodScan();
    // An attempt to connect may take 2 s, which is short where a sanitizer slows an attack down.
    absl::StatusOr<v1::AlignmentResult> result;
    ASSERT_TRUE(Eventually([&] {
      result = client::AlignScan(*channel, request, 60.0);
      return !absl::IsUnavailable(result.status());
    })) << result.status();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->status(), v1::ALIGNMENT_STATUS_OK);
  }

  static ScratchDir* folder_;
  static ServerProcess* server_;
};

ScratchDir* MalformedHttp2::folder_ = nullptr;
ServerProcess* MalformedHttp2::server_ = nullptr;

TEST_P(MalformedHttp2, DisturbsNobodyElse) {
  ASSERT_NO_FATAL_FAILURE(ExpectServed());
  const double before = SampleProcess(server_->pid()).resident_bytes;
  ASSERT_GT(before, 0.0);
  std::atomic<bool> closed{true};
  std::vector<std::thread> attackers;
  for (int i = 0; i < 2; ++i) {
    attackers.emplace_back([&closed] {
      const RawConnection connection(server_->address());
      EXPECT_TRUE(connection.connected());
      GetParam().run(connection);
      if (GetParam().is_closed && !connection.ClosedWithin(kHttp2CloseTimeout_s)) closed = false;
    });
  }
  for (int i = 0; i < 3; ++i) ExpectServed();
  for (std::thread& attacker : attackers) attacker.join();
  EXPECT_TRUE(closed);
  ExpectServed();
  ASSERT_TRUE(server_->running());
  const double after = SampleProcess(server_->pid()).resident_bytes;
  if (kMemoryIsMeasurable) {
    EXPECT_LT(after - before, kMaxGrowth_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Attacks, MalformedHttp2, ::testing::ValuesIn(Attacks()),
                         [](const ::testing::TestParamInfo<Attack>& attack) {
                           return attack.param.name;
                         });

}  // namespace
}  // namespace voxloc::chaos
