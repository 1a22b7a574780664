// SPDX-License-Identifier: Apache-2.0

#include "server/security/access_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "server/security/call_access.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

std::string FileFor(const std::string& token) {
  return "identities:\n  one:\n    roles: [track]\n    token_sha256: [" + HashOf(token) + "]\n";
}

CallerCredentials Token(const std::string& token) {
  CallerCredentials credentials;
  credentials.has_authorization = true;
  credentials.token = Sha256Of(token);
  return credentials;
}

TEST(AccessControl, FollowsItsFile) {
  const TestFolder folder;
  const Metrics metrics;
  AccessControl control(folder.Write("access.yaml", FileFor("first")), metrics);
  EXPECT_TRUE(control.policy()->identities.empty());
  ASSERT_TRUE(control.Reload().ok());
  CallAccess first(control, metrics, RpcMethod::kAlignScans, Token("first"), "peer");
  CallAccess second(control, metrics, RpcMethod::kAlignScans, Token("second"), "peer");
  EXPECT_TRUE(first.Check().ok());
  EXPECT_EQ(second.Check().code(), absl::StatusCode::kUnauthenticated);

  const auto now = TimeoutWatch::Clock::now();
  EXPECT_GT(control.Poll(now), now);
  EXPECT_EQ(metrics.access_reloads_ok.Value(), 1.0);  // nothing has changed

  folder.Write("access.yaml", FileFor("second"));
  static_cast<void>(control.Poll(now));
  EXPECT_EQ(metrics.access_reloads_ok.Value(), 2.0);
  EXPECT_EQ(first.Check().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(second.Check().ok());
  EXPECT_EQ(second.caller(), "one");

  folder.Write("access.yaml", "identities: [");
  static_cast<void>(control.Poll(now));
  static_cast<void>(control.Poll(now));  // read once, as long as it does not change
  EXPECT_EQ(metrics.access_reloads_failed.Value(), 1.0);
  EXPECT_TRUE(second.Check().ok());
  EXPECT_EQ(metrics.denied_unknown.Value(), 2.0);
}

TEST(AccessControl, IsAskedWhileTheFileChanges) {
  const TestFolder folder;
  const Metrics metrics;
  AccessControl control(folder.Write("access.yaml", FileFor("stays")), metrics);
  ASSERT_TRUE(control.Reload().ok());
  std::atomic<bool> stop{false};
  std::atomic<int> denied{0};
  CallAccess shared(control, metrics, RpcMethod::kAlignScans, Token("stays"), "peer");
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        CallAccess own(control, metrics, RpcMethod::kAlignScans, Token("stays"), "peer");
        if (!own.Check().ok() || !shared.Check().ok() || !own.UseMapAs("m", "v").ok()) ++denied;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    folder.Write("access.yaml", FileFor("stays") + "    maps: [m, x" + std::to_string(i) + "]\n");
    static_cast<void>(control.Poll(TimeoutWatch::Clock::now()));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(denied, 0);
  EXPECT_EQ(metrics.access_reloads_ok.Value(), 51.0);
}

// A pipe into which nobody writes stands for a file of a disk that has stopped answering.
TEST(AccessControl, AFileThatHangsHoldsUpNeitherTimeoutsNorLiveness) {
  const TestFolder folder;
  TestServer server([&folder](Config& config) {
    config.access_file = folder.Write("access.yaml", "anonymous:\n  roles: [track]\n");
    config.metrics_listen = "127.0.0.1:0";
    config.limits.open_timeout_s = 0.1;
  });
  const std::string pipe = folder.Path("access.yaml");
  ASSERT_EQ(mkfifo(folder.Path("pipe").c_str(), S_IRUSR | S_IWUSR), 0);
  ASSERT_EQ(std::rename(folder.Path("pipe").c_str(), pipe.c_str()), 0);
  // It can be opened so once the server reads from it, which then waits for what is written.
  int writer = -1;
  EXPECT_TRUE(Eventually([&] {
    writer = open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return writer >= 0;
  }));
  // Two, one after the other: the watch of the streams goes on.
  for (int i = 0; i < 2; ++i) {
    TestSession silent(server);
    EXPECT_EQ(ReasonOf(silent.Finish()), "OPEN_TIMEOUT");
  }
  EXPECT_EQ(HttpGet(server.server().metrics_address(), "/livez").substr(0, 15), "HTTP/1.1 200 OK");
  close(writer);
}

}  // namespace
}  // namespace voxloc::server
