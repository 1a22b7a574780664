// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/cpu/cpu_engine.h"
#include "server/engines/warm_up.h"
#include "server/server.h"
#include "tests/server/engines/fake_gpu.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

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
