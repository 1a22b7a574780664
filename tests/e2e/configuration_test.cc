// SPDX-License-Identifier: Apache-2.0
//
// voxlocd's configuration, as an operator uses it: checked, printed, and reloaded on SIGHUP.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string VoxlocdPath() { return ProgramPath(VOXLOC_VOXLOCD); }

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ConfigurationTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool AwaitLog(const std::string& text) const {
    return Eventually([&] { return TextOf(log_).find(text) != std::string::npos; });
  }

  // Whether the server that logs here says that it serves.
  [[nodiscard]] bool IsServing() const {
    const std::string log = TextOf(log_);
    const std::string field = " listen=";
    const size_t begin = log.find(field, log.find("event=serving")) + field.size();
    const std::string listen = log.substr(begin, log.find(' ', begin) - begin);
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateChannel(listen, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest readiness;
    readiness.set_service("voxloc.v1.LocalizationService");
    grpc::health::v1::HealthCheckResponse response;
    return stub->Check(&context, readiness, &response).ok() &&
           response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

  const ScratchDir scratch_;
  const std::string log_ = scratch_.Path("log");
};

TEST_F(ConfigurationTest, TheCheckStartsNothingAndItsExitCodeTells) {
  const std::string ready = scratch_.Path("ready.json");
  const std::string good = scratch_.Write("good.yaml", "threads: 1\nready_file: " + ready + "\n");
  ProcessResult result = RunProcess({VoxlocdPath(), "--config=" + good, "--check-config"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ::testing::StartsWith("OK\n"));
  EXPECT_THAT(result.out, HasSubstr("threads: 1  # " + good + ":1\n"));
  EXPECT_EQ(TextOf(ready), "");

  const std::string bad = scratch_.Write("bad.yaml", "thread: 1\nengine: gpu\n");
  // Errors that depend on several values or on the machine.
  for (const auto& [flag, fault] :
       {std::pair<std::string, std::string>{"--listen=0.0.0.0:0", "without encryption"},
        {"--access-file=/nowhere/access.yaml", "/nowhere/access.yaml"},
        {"--otlp-endpoint=collector", "otlp_endpoint"}}) {
    result = RunProcess({VoxlocdPath(), flag, "--check-config"});
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_THAT(result.error, HasSubstr(fault));
  }

  // All of it, of both kinds, and nothing was made.
  const std::string data = scratch_.Path("data");
  result =
      RunProcess({VoxlocdPath(), "--metrics-listen=127.0.0.1:50051", "--data-dir=" + data,
                  "--audit-log=" + data + "/none/audit.log", "--tls.certificate=" + data + "/cert",
                  "--tls.private-key=" + data + "/key", "--threads=many", "--check-config"});
  EXPECT_EQ(result.exit_code, 2);
  for (const char* fault : {"different ports", "threads must be", "audit_log must be",
                            "tls.certificate (", "tls.private_key ("}) {
    EXPECT_THAT(result.error, HasSubstr(fault));
  }
  EXPECT_FALSE(std::filesystem::exists(data));

  result = RunProcess({VoxlocdPath(), "--config=" + bad, "--check-config"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.error, HasSubstr(bad + ":1:1: unknown key thread; did you mean threads?\n"));
  EXPECT_THAT(result.error, HasSubstr(bad + ":2:9: engine must be one of"));
}

TEST_F(ConfigurationTest, WhatIsPrintedReadsBackAsTheSame) {
  const ProcessResult first = RunProcess({VoxlocdPath(), "--print-config", "--limits.max-maps=3",
                                          "--drain-delay-s=0.1", "--data-dir=/a b/#c"});
  ASSERT_EQ(first.exit_code, 0) << first.error;
  const std::string file = scratch_.Write("printed.yaml", first.out);
  const ProcessResult second = RunProcess({VoxlocdPath(), "--config=" + file, "--print-config"});
  ASSERT_EQ(second.exit_code, 0) << second.error;
  std::istringstream lines(first.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(second.out, HasSubstr(line.substr(0, line.find("  #"))));
  }
  EXPECT_THAT(second.out, HasSubstr("data_dir: \"/a b/#c\"  # " + file + ":"));
}

TEST_F(ConfigurationTest, SighupTakesChangesOverAndAWrongFileChangesNothing) {
  const std::string listen = "listen: \"127.0.0.1:0\"\nmetrics_listen: off\nengine: cpu\n";
  const std::string file = scratch_.Write("f.yaml", listen + "limits: {max_sessions: 5}\n");
  ChildProcess server({VoxlocdPath(), "--config=" + file, "--drain-delay-s=0"}, log_);
  ASSERT_TRUE(AwaitLog("event=host_resources")) << TextOf(log_);

  scratch_.Write("f.yaml", listen + "limits: {max_sessions: 6}\nkept_revisions: 4\n");
  server.Signal(SIGHUP);
  ASSERT_TRUE(AwaitLog("event=reloaded changes=2")) << TextOf(log_);
  EXPECT_THAT(TextOf(log_),
              HasSubstr("event=setting_changed key=limits.max_sessions before=5 after=6"));
  EXPECT_THAT(TextOf(log_), HasSubstr("event=restart_needed key=kept_revisions before=10 after=4"));

  scratch_.Write("f.yaml", listen + "limits: {max_sessions: many}\n");
  server.Signal(SIGHUP);
  ASSERT_TRUE(AwaitLog("event=reload_refused")) << TextOf(log_);
  EXPECT_THAT(TextOf(log_), HasSubstr(":4:24: limits.max_sessions must be"));

  scratch_.Write("f.yaml", listen + "limits: {max_sessions: 6}\nlog_level: warn\n");
  server.Signal(SIGHUP);
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.Stop(), 0);
  // The new level was in effect before the end.
  EXPECT_THAT(TextOf(log_), Not(HasSubstr("event=stopped")));
}

TEST_F(ConfigurationTest, SighupDuringADrainIsIgnored) {
  ChildProcess server({VoxlocdPath(), "--listen=127.0.0.1:0", "--metrics-listen=off",
                       "--engine=cpu", "--drain-delay-s=3600"},
                      log_);
  ASSERT_TRUE(AwaitLog("event=host_resources")) << TextOf(log_);
  // The drain waits until probes of the readiness notice it; without probes it is over at once.
  ASSERT_TRUE(Eventually([&] { return IsServing(); })) << TextOf(log_);
  server.Signal(SIGTERM);
  ASSERT_TRUE(AwaitLog("event=draining")) << TextOf(log_);
  server.Signal(SIGHUP);
  EXPECT_TRUE(AwaitLog("event=reload_ignored")) << TextOf(log_);
  EXPECT_TRUE(server.running());
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 128 + SIGTERM);
}

}  // namespace
}  // namespace voxloc
