// SPDX-License-Identifier: Apache-2.0
//
// What the server says and does when its engine fails for good, and when it is not the one that was
// asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/failover/failover_engine.h"
#include "core/engine/replica/replicated_engine.h"
#include "server/lifecycle/engine_watch.h"
#include "server/observe/logging.h"
#include "tests/server/engines/fake_gpu.h"
#include "tests/server/lifecycle/health_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/log_file.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class EngineHealth : public ::testing::Test {
 protected:
  EngineHealth()
      : faults_(std::make_shared<GpuFaults>()),
        server_([](Config& config) { config.metrics_listen = "127.0.0.1:0"; },
                std::make_unique<FakeGpu>(faults_)) {
    server_.LoadTown();
  }

  const std::shared_ptr<GpuFaults> faults_;
  TestServer server_;
};

TEST_F(EngineHealth, IsToldWhileAllIsWell) {
  EXPECT_EQ(HealthOf(server_, ""), kHealthServing);
  const v1::GetServerInfoResponse info = ServerInfoOf(server_);
  EXPECT_EQ(info.engine(), "cuda");
  EXPECT_EQ(info.engine_note(), "");
  ASSERT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).kind(), v1::DEVICE_KIND_CUDA);
  EXPECT_TRUE(info.devices(0).healthy());
  auto metrics = MetricsOf(server_);
  EXPECT_EQ(metrics["voxloc_engine_healthy"], 1.0);
  EXPECT_EQ(metrics.at("voxloc_engine_fallback"), 0.0);
  EXPECT_EQ(metrics["voxloc_engine_memory_total_bytes{device=\"cuda\"}"], 1e9);
  EXPECT_EQ(metrics["voxloc_engine_memory_used_bytes{device=\"cuda\"}"], 6e8);
  EXPECT_GT(metrics["voxloc_map_bytes{memory=\"device\"}"], 0.0);
}

TEST_F(EngineHealth, TheStagesOfTheGpuAreMeasuredInOneBatchOfSixteen) {
  TestSession session(server_, "town");
  const auto align = [&](int scans) {
    for (int i = 0; i < scans; ++i) {
      EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
    }
    return MetricsOf(server_);
  };
  const auto of = [](const char* what, const char* stage) {
    return absl::StrCat("voxloc_device_stage_duration_seconds_", what, "{device=\"cuda\",stage=\"",
                        stage, "\"}");
  };
  EXPECT_EQ(align(1).at(of("count", "kernel")), 1.0);
  EXPECT_EQ(align(15).at(of("count", "kernel")), 1.0);
  auto metrics = align(1);
  for (const char* stage : {"upload", "kernel", "download"}) {
    EXPECT_EQ(metrics.at(of("count", stage)), 2.0) << stage;
  }
  EXPECT_NEAR(metrics.at(of("sum", "upload")), 2 * FakeGpu::kTimes.upload_s, 1e-12);
  EXPECT_NEAR(metrics.at(of("sum", "kernel")), 2 * FakeGpu::kTimes.kernel_s, 1e-12);
  EXPECT_NEAR(metrics.at(of("sum", "download")), 2 * FakeGpu::kTimes.download_s, 1e-12);
}

TEST_F(EngineHealth, IsToldWhenTheEngineFailsForGood) {
  faults_->dead = true;
  for (const char* service : {"voxloc.v1.LocalizationService", "voxloc.v1.MapService",
                              "voxloc.v1.LocalizationService/town"}) {
    EXPECT_TRUE(Eventually([&] { return HealthOf(server_, service) == kHealthNotServing; }))
        << service;
  }
  EXPECT_EQ(HealthOf(server_, "voxloc.v1.AdminService"), kHealthServing);  // it still tells
  EXPECT_EQ(HealthOf(server_, ""), kHealthServing);  // a restart is the operator's choice
  EXPECT_THAT(HttpGet(server_.server().metrics_address(), "/readyz"),
              HasSubstr("not ready: no engine: "));
  EXPECT_THAT(HttpGet(server_.server().metrics_address(), "/livez"), HasSubstr("200 OK"));
  const v1::GetServerInfoResponse info = ServerInfoOf(server_);
  EXPECT_FALSE(info.devices(0).healthy());
  EXPECT_THAT(info.engine_note(), HasSubstr("illegal memory access"));
  EXPECT_EQ(MetricsOf(server_)["voxloc_engine_healthy"], 0.0);
}

TEST_F(EngineHealth, SendsClientsElsewhereOnceTheEngineHasFailed) {
  TestSession session(server_, "town");
  faults_->dead = true;
  for (const uint64_t sequence : {1, 2}) {
    const v1::AlignmentResult result = session.Align(GoodScan(sequence));
    EXPECT_EQ(result.sequence(), sequence);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_ENGINE_FAULT);
    EXPECT_THAT(result.detail(), HasSubstr("failed permanently"));
    // Once, for clients that have another server.
    if (sequence == 1) {
      EXPECT_THAT(session.Read().draining().reason(), HasSubstr("failed permanently"));
    }
  }
  EXPECT_TRUE(session.Close().ok());

  const grpc::Status refused = OpenError(server_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(refused), "ENGINE_LOST");

  v1::AlignmentResult none;
  EXPECT_EQ(AlignInTown(server_, GoodScan(), none).error_code(), grpc::StatusCode::UNAVAILABLE);

  TestUpdate update(server_);
  update.Write(BeginRequest("other"));
  EXPECT_TRUE(update.Read().has_begun());
  update.Write(TileRequest("town", SmallTown()));
  EXPECT_FALSE(update.Read().has_tile_added());
  EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(EngineNote, IsToldByInfoAndMetric) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; },
                    EngineChoice{nullptr, {}, "GPU 0 failed the self-test: something differs"});
  const v1::GetServerInfoResponse info = ServerInfoOf(server);
  EXPECT_EQ(info.engine(), "cpu");
  EXPECT_THAT(info.engine_note(), HasSubstr("failed the self-test"));
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_engine_fallback"], 1.0);
  EXPECT_EQ(metrics["voxloc_engine_healthy"], 1.0);
  EXPECT_EQ(metrics.count("voxloc_engine_memory_total_bytes{device=\"cpu\"}"), 0);
  EXPECT_EQ(metrics.count("voxloc_map_bytes{memory=\"host\"}"), 1);
}

TEST(EngineDevices, AreToldOneByOne) {
  auto faults = std::make_shared<GpuFaults>();
  std::vector<std::unique_ptr<Engine>> gpus;
  gpus.push_back(std::make_unique<FakeGpu>());
  gpus.push_back(std::make_unique<FakeGpu>(faults));
  auto engine = MakeReplicatedEngine(std::move(gpus));
  ASSERT_TRUE(engine.ok()) << engine.status();
  TownServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; },
                    EngineChoice{*std::move(engine), {0, 3}, ""});
  faults->dead = true;
  // Each has a scan or two to do: the one that fails is found out, and the other does its work.
  v1::AlignmentResult result;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(AlignInTown(server, GoodScan(), result).ok());
  const v1::GetServerInfoResponse info = ServerInfoOf(server);
  EXPECT_EQ(info.engine(), "cuda");
  EXPECT_EQ(info.engine_note(), "");
  ASSERT_EQ(info.devices_size(), 2);
  EXPECT_EQ(info.devices(0).name(), "cuda:0");
  EXPECT_TRUE(info.devices(0).healthy());
  EXPECT_EQ(info.devices(1).name(), "cuda:3");
  EXPECT_FALSE(info.devices(1).healthy());
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_engine_healthy"], 1.0);
  EXPECT_EQ(metrics["voxloc_engine_device_healthy{device=\"cuda:0\"}"], 1.0);
  EXPECT_EQ(metrics.at("voxloc_engine_device_healthy{device=\"cuda:3\"}"), 0.0);
  EXPECT_EQ(metrics["voxloc_engine_memory_total_bytes{device=\"cuda:3\"}"], 1e9);
}

TEST(EngineWatchTest, LogsOnlyChangesOfTheHealth) {
  auto faults = std::make_shared<GpuFaults>();
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::make_unique<FakeGpu>(faults));
  const FailoverEngine engine(std::move(engines));
  const Metrics metrics;
  EngineWatch watch(engine, metrics, [] { ADD_FAILURE() << "there is no other engine"; });
  const TimeoutWatch::Clock::time_point now;
  const LogFile log;
  const LogLevel level = SetLogLevel(LogLevel::kInfo);
  for (const bool dead : {false, true, false}) {
    faults->dead = dead;
    EXPECT_GT(watch.Poll(now), now);
    EXPECT_GT(watch.Poll(now), now);
  }
  Log(LogLevel::kError, "end_of_test", {});
  SetLogLevel(level);
  ASSERT_TRUE(Eventually([&log] { return log.CountLines("end_of_test") == 1; }));
  EXPECT_EQ(log.CountLines("engine_unhealthy", "level=error"), 1);
  EXPECT_EQ(log.CountLines("engine_healthy", "level=info"), 1);
}

}  // namespace
}  // namespace voxloc::server
