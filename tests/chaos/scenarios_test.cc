// SPDX-License-Identifier: Apache-2.0
//
// Each scenario of voxloc_chaos, small: every count is as it must be, and none is zero that shows
// that something happened. Nothing of time is demanded.

#include <gtest/gtest.h>

#include <limits>

#include "tests/chaos/idle_connections.h"
#include "tests/chaos/overload.h"
#include "tests/chaos/restarts.h"
#include "tests/chaos/soak.h"
#include "tests/e2e/program_path.h"

namespace voxloc::chaos {
namespace {

ServerOptions SmallServer() {
  ServerOptions server;
  server.program = ProgramPath(VOXLOC_CHAOS);
  server.threads = 1;
  return server;
}

void ExpectNoViolation(const absl::StatusOr<Report>& report) {
  ASSERT_TRUE(report.ok()) << report.status();
  for (const std::string& violation : report->violations) ADD_FAILURE() << violation;
  if (::testing::Test::HasFailure()) std::cerr << report->json.dump(2) << std::endl;
}

RestartsOptions SmallRestarts() {
  RestartsOptions options;
  options.server = SmallServer();
  options.points = 200;
  options.scans = 400;
  options.streams = 4;
  options.cancelled = 0.1;
  options.restarts = 2;
  options.first_run_s = 0.5;
  return options;
}

TEST(Restarts, LoseAndRepeatNoScanWithAnEngineFaultInBetween) {
  RestartsOptions options = SmallRestarts();
  options.server.gpu = "made-up";
  options.engine_fault = true;
  const auto report = RunRestarts(options);
  ASSERT_NO_FATAL_FAILURE(ExpectNoViolation(report));
  const cli::Json& json = report->json;
  EXPECT_GE(json["sent"], 200);
  EXPECT_GT(json["accepted"], 0);
  EXPECT_GT(json["cancelled"], 0);
  EXPECT_EQ(json["engine_takeovers"], 1.0);
  EXPECT_EQ(json["sent"].get<uint64_t>(),
            json["answered"].get<uint64_t>() + json["superseded"].get<uint64_t>() +
                json["given_up"].get<uint64_t>() + json["cancelled"].get<uint64_t>());
}

TEST(Restarts, LoseAndRepeatNoScanWhereServersAreKilled) {
  RestartsOptions options = SmallRestarts();
  options.kills = 1;
  const auto report = RunRestarts(options);
  ASSERT_NO_FATAL_FAILURE(ExpectNoViolation(report));
  EXPECT_EQ(report->json["killed"], 1);
  EXPECT_GT(report->json["answered"], 0);
}

TEST(Overload, AnswersEveryScanOfEveryKindOfClient) {
  OverloadOptions options;
  options.server = SmallServer();
  options.points = 200;
  options.duration_s = 1.0;
  options.capacity_s = 0.6;
  options.quiet_s = 0.5;
  options.streams = 4;
  options.min_throughput = 0.0;
  options.max_recovery_s = std::numeric_limits<double>::infinity();
  const auto report = RunOverload(options);
  ASSERT_NO_FATAL_FAILURE(ExpectNoViolation(report));
  EXPECT_GT(report->json["sessions"]["sent"], 0);
  EXPECT_GT(report->json["streams"]["sent"], 0);
  EXPECT_GT(report->json["calls"]["sent"], 0);
  EXPECT_GT(report->json["throughput_hz"], 0.0);
}

TEST(IdleConnections, LeaveTheVehicleItsAnswers) {
  IdleConnectionsOptions options;
  options.server = SmallServer();
  options.points = 200;
  options.silent = 90;
  options.not_reading = 6;
  options.not_reading_hz = 5.0;
  options.seconds = 0.7;
  options.max_p99_factor = 0.0;
  const auto report = RunIdleConnections(options);
  ASSERT_NO_FATAL_FAILURE(ExpectNoViolation(report));
  EXPECT_EQ(report->json["not_connected"], 0);
  EXPECT_GT(report->json["not_reading_sent"], 6);
  EXPECT_GE(report->json["during"]["descriptors"].get<double>(),
            report->json["before"]["descriptors"].get<double>() + 90.0);
  EXPECT_EQ(report->json["during"]["sessions"], 7.0);
}

TEST(Soak, ServesEveryKindOfCall) {
  SoakOptions options;
  options.server = SmallServer();
  options.points = 200;
  options.duration_s = 2.5;
  options.sample_s = 0.5;
  options.warm_up_s = 2.4;  // growth is for longer runs
  const auto report = RunSoak(options);
  ASSERT_NO_FATAL_FAILURE(ExpectNoViolation(report));
  for (const char* const kind : {"sessions", "scans", "commits", "passing_maps", "searches",
                                 "scores", "bad_input", "scrapes"}) {
    EXPECT_GT(report->json["load"][kind]["done"], 0) << kind;
  }
}

}  // namespace
}  // namespace voxloc::chaos
