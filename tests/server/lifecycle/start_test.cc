// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/match.h"
#include "core/engine/cpu/cpu_engine.h"
#include "server/engines/engine_choice.h"
#include "server/server.h"
#include "tests/server/engines/fake_gpu.h"
#include "tests/server/map_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

// Of the sockets of this process.
int CountListening() {
  constexpr int kMostDescriptors = 1024;
  int listening = 0;
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    int accepts = 0;
    socklen_t size = sizeof(accepts);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0) listening += accepts;
  }
  return listening;
}

// While it lives, notes how many sockets listen when the last poses of a map are read, in databases
// that are opened from now on.
class SocketsWhilePosesAreRead {
 public:
  SocketsWhilePosesAreRead() {
    reads = 0;
    most = 0;
    sqlite3_auto_extension(Extension());
  }
  SocketsWhilePosesAreRead(const SocketsWhilePosesAreRead&) = delete;
  SocketsWhilePosesAreRead& operator=(const SocketsWhilePosesAreRead&) = delete;
  ~SocketsWhilePosesAreRead() { sqlite3_cancel_auto_extension(Extension()); }

  static inline std::atomic<int> reads{0};
  static inline std::atomic<int> most{0};

 private:
  static void (*Extension())() { return reinterpret_cast<void (*)()>(&OnOpen); }
  static int OnOpen(sqlite3* database, char** /*error*/, const void* /*api*/) {
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, &OnStatement, nullptr);
  }
  static int OnStatement(unsigned /*event*/, void* /*context*/, void* /*statement*/, void* sql) {
    if (!absl::StrContains(static_cast<const char*>(sql), "FROM last_poses WHERE map = ")) return 0;
    ++reads;
    most = std::max(most.load(), CountListening());
    return 0;
  }
};

// What changes a map comes after its loading in the queue: nobody is connected before the maps wait
// in it.
TEST(ServerStart, QueuesItsMapsBeforeAClientCanReachIt) {
  const ScratchDir folder;
  const auto with_maps = [&folder](Config& config) { config.data_dir = folder.Path("maps"); };
  { TownServer server(with_maps); }
  const int before = CountListening();
  const SocketsWhilePosesAreRead sockets;
  TestServer server(with_maps);
  EXPECT_GE(sockets.reads.load(), 2);  // for the poses of vehicles, and for the order of loading
  EXPECT_EQ(sockets.most.load(), before);
  EXPECT_GT(CountListening(), before);
  // The first call of a client, again until the map is loaded.
  UpdateOutcome update;
  EXPECT_TRUE(Eventually([&] {
    update = RunUpdate(server, {BeginRequest("town", /*create=*/false),
                                TileRequest("more", TownStrip(-3.0, 3.0)), CommitRequest()});
    return update.status.error_code() != grpc::StatusCode::UNAVAILABLE;
  }));
  EXPECT_TRUE(update.status.ok()) << update.status.error_message();
  EXPECT_EQ(update.committed.map().revision(), 2U);
}

TEST(ServerStart, IsGivenUpAtAnyStep) {
  int steps = 0;
  for (int stop_at = 1;; ++stop_at) {
    CommandLine command_line;
    command_line.config.listen = "127.0.0.1:0";
    command_line.config.metrics_listen = "127.0.0.1:0";
    command_line.config.engine = "cpu";
    command_line.config.log_level = "error";
    int asked = 0;
    const auto server = Server::Start(
        command_line, [] {}, [&] { return ++asked == stop_at; });
    if (server.ok()) break;
    EXPECT_EQ(server.status().code(), absl::StatusCode::kCancelled);
    ++steps;
    ASSERT_LT(stop_at, 100);
  }
  EXPECT_GE(steps, 3);
}

TEST(WarmUpTest, AlignsOrSaysWhyNot) {
  EXPECT_TRUE(WarmUp(*MakeCpuEngine({1})).ok());
  const auto faults = std::make_shared<GpuFaults>();
  faults->failing = true;
  FakeGpu broken(faults);
  EXPECT_THAT(WarmUp(broken).ToString(), HasSubstr("the engine cannot align a first scan: "));
}

}  // namespace
}  // namespace voxloc::server
