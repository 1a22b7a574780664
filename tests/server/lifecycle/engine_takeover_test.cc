// SPDX-License-Identifier: Apache-2.0
//
// The server's GPUs fail for good while vehicles drive, and the CPU engine takes over. The GPUs are
// made up; their maps are not those of the CPU engine, as with real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/replica/replicated_engine.h"
#include "server/lifecycle/lifecycle_requests.h"
#include "server/maps/store/sqlite_map_store.h"
#include "tests/server/engines/fake_gpu.h"
#include "tests/server/lifecycle/health_calls.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class EngineTakeover : public ::testing::Test {
 protected:
  [[nodiscard]] EngineChoice GpusWithAStandby() {
    std::vector<std::unique_ptr<Engine>> gpus;
    for (int i = 0; i < 2; ++i) gpus.push_back(std::make_unique<FakeGpu>(faults_));
    auto united = MakeReplicatedEngine(std::move(gpus));
    EXPECT_TRUE(united.ok()) << united.status();
    EngineChoice choice;
    choice.engine = *std::move(united);
    choice.devices = {0, 1};
    choice.standby = MakeCpuEngine({2});
    return choice;
  }
  void Start() {
    server_ = std::make_unique<TestServer>(
        [](Config& config) {
          // Of made-up GPUs with little memory.
          config.limits.max_map_memory_bytes = uint64_t{1} << 30;
          config.metrics_listen = "127.0.0.1:0";
        },
        GpusWithAStandby());
    server_->LoadTown();
  }

  // Sends scans until one is accepted; every one is answered. Returns that answer.
  [[nodiscard]] static v1::AlignmentResult DriveUntilAccepted(TestSession& session) {
    v1::AlignmentResult result;
    uint64_t sequence = 100;
    EXPECT_TRUE(Eventually([&] {
      result = session.Align(GoodScan(++sequence));
      EXPECT_EQ(result.sequence(), sequence);
      return result.accepted();
    }));
    return result;
  }

  const std::shared_ptr<GpuFaults> faults_ = std::make_shared<GpuFaults>();
  std::unique_ptr<TestServer> server_;
};

TEST_F(EngineTakeover, ScansGoOnInTheSameSessionWithTheSameBits) {
  Start();
  TestSession session(*server_, "town");
  const v1::AlignmentResult before = session.Align(GoodScan(1));
  EXPECT_TRUE(before.accepted());
  EXPECT_EQ(before.engine(), "cuda");

  faults_->dead = true;
  const v1::AlignmentResult after = DriveUntilAccepted(session);
  EXPECT_EQ(after.engine(), "cpu");
  EXPECT_EQ(after.map_revision(), before.map_revision());
  EXPECT_EQ(after.tiles_missing(), 0u);
  // Both compute on this processor.
  EXPECT_EQ(after.map_t_base().pose().ShortDebugString(),
            before.map_t_base().pose().ShortDebugString());
  EXPECT_TRUE(session.Close().ok());
}

TEST_F(EngineTakeover, IsToldByHealthInfoAndMetrics) {
  Start();
  faults_->dead = true;
  EXPECT_TRUE(
      Eventually([&] { return MetricsOf(*server_)["voxloc_engine_takeovers_total"] == 1; }));
  EXPECT_EQ(HealthOf(*server_, kLocalizationName), kHealthServing);
  const v1::GetServerInfoResponse info = ServerInfoOf(*server_);
  EXPECT_EQ(info.engine(), "cpu");
  EXPECT_THAT(info.engine_note(), HasSubstr("illegal memory access"));
  ASSERT_EQ(info.devices_size(), 3);
  EXPECT_EQ(info.devices(0).name(), "cuda:0");
  EXPECT_FALSE(info.devices(0).healthy());
  EXPECT_FALSE(info.devices(1).healthy());
  EXPECT_EQ(info.devices(2).name(), "cpu");
  EXPECT_TRUE(info.devices(2).healthy());
  auto metrics = MetricsOf(*server_);
  EXPECT_EQ(metrics["voxloc_engine_fallback"], 1.0);
  EXPECT_EQ(metrics["voxloc_engine_healthy"], 1.0);
  EXPECT_EQ(metrics.at("voxloc_engine_device_healthy{device=\"cuda:1\"}"), 0.0);
}

TEST_F(EngineTakeover, TheMemoryOfMapsIsThatOfTheEngineThatServes) {
  Start();
  const char* const device = "voxloc_map_bytes{memory=\"device\"}";
  const char* const host = "voxloc_map_bytes{memory=\"host\"}";
  auto metrics = MetricsOf(*server_);
  EXPECT_GT(metrics.at(device), 0.0);
  EXPECT_EQ(metrics.at(host), 0.0);
  faults_->dead = true;
  TestSession session(*server_, "town");
  EXPECT_EQ(DriveUntilAccepted(session).engine(), "cpu");
  metrics = MetricsOf(*server_);
  EXPECT_EQ(metrics.at(device), 0.0);
  EXPECT_GT(metrics.at(host), 0.0);
}

TEST_F(EngineTakeover, KeepsEveryRevisionAndItsCanaries) {
  Start();
  ASSERT_TRUE(RunUpdate(*server_, {BeginRequest("town"), TileRequest("more", TownStrip(-3.0, 3.0)),
                                   StageRequest({"tram"})})
                  .status.ok());

  faults_->dead = true;
  for (const auto& [vehicle, revision] :
       {std::pair<std::string, uint64_t>{"bus", 1}, {"tram", 2}}) {
    TestSession session(*server_);
    v1::OpenSession open = TownSession();
    open.mutable_setup()->set_vehicle(vehicle);
    session.Open(open);
    const v1::AlignmentResult result = DriveUntilAccepted(session);
    EXPECT_EQ(result.map_revision(), revision);
    EXPECT_EQ(result.engine(), "cpu");
  }
}

TEST_F(EngineTakeover, ATransactionThatWasOpenIsCommitted) {
  Start();
  TestUpdate update(*server_);
  update.Write(BeginRequest("town"));
  ASSERT_TRUE(update.Read().has_begun());
  update.Write(TileRequest("before", TownStrip(-3.0, 0.0)));
  ASSERT_TRUE(update.Read().has_tile_added());
  faults_->dead = true;
  update.Write(TileRequest("after", TownStrip(0.0, 3.0)));
  ASSERT_TRUE(update.Read().has_tile_added());
  update.Write(CommitRequest());
  const v1::UpdateMapTilesResponse committed = update.Read();
  ASSERT_TRUE(committed.has_committed());
  EXPECT_EQ(committed.committed().map().tiles(), 3u);
  EXPECT_TRUE(update.Finish().ok());
  EXPECT_TRUE(Eventually([&] { return GetMap(*server_).resident_tiles() == 3; }));
  TestSession session(*server_, "town");
  EXPECT_EQ(DriveUntilAccepted(session).map_revision(), 2u);
}

TEST_F(EngineTakeover, SearchesAndUnaryCallsAreTakenAgain) {
  Start();
  ASSERT_TRUE(Search(*server_, WholeMapRequest()).status.ok());  // whose grid is the GPU's
  faults_->dead = true;
  PoseSearchReply reply;
  EXPECT_TRUE(Eventually([&] {
    reply = Search(*server_, WholeMapRequest());
    if (!reply.status.ok()) {
      EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::UNAVAILABLE)
          << reply.status.error_message();
    }
    return reply.status.ok();
  }));
  ASSERT_GT(reply.result.hypotheses_size(), 0);
  EXPECT_LT(DistanceFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.2);
  EXPECT_EQ(reply.result.engine(), "cpu");

  v1::AlignmentResult result;
  EXPECT_TRUE(AlignInTown(*server_, GoodScan(), result).ok());
  EXPECT_EQ(result.engine(), "cpu");
}

TEST_F(EngineTakeover, AsksItsOwnerForARestartWhereTheOperatorWantsThat) {
  for (const bool restart : {false, true}) {
    faults_->dead = false;
    CommandLine command_line;
    command_line.config.listen = "127.0.0.1:0";
    command_line.config.metrics_listen = "127.0.0.1:0";
    command_line.config.log_level = "error";
    command_line.config.on_engine_failure = restart ? "restart" : "serve";
    std::atomic<int> asked{0};
    auto server = Server::Start(command_line, GpusWithAStandby(), [&] { ++asked; });
    ASSERT_TRUE(server.ok()) << server.status();
    faults_->dead = true;
    EXPECT_TRUE(Eventually([&] {
      return ParseMetrics(HttpGet((*server)->metrics_address(),
                                  "/metrics"))["voxloc_engine_takeovers_total"] == 1;
    }));
    EXPECT_TRUE(Eventually([&] { return asked == (restart ? 1 : 0); }));
  }
}

// As in voxlocd: a signal drains the server, and the server asks for its end while a session is
// open.
TEST_F(EngineTakeover, DuringADrainLeavesTheDrainToEndWell) {
  const ScratchDir folder;
  LifecycleRequests requests;
  std::atomic<int> asked{0};
  server_ = std::make_unique<TestServer>(
      [&](Config& config) {
        config.data_dir = folder.Path("maps");
        config.on_engine_failure = "restart";
        config.limits.max_map_memory_bytes = uint64_t{1} << 30;
        config.drain_timeout_s = 3600.0;
      },
      GpusWithAStandby(),
      [&] {
        requests.RequestRestart();
        ++asked;
      });
  server_->LoadTown();
  auto session = std::make_unique<TestSession>(*server_, "town");
  ASSERT_TRUE(session->Align(GoodScan()).accepted());
  EXPECT_TRUE(requests.RequestShutdown());
  std::thread drain([&] { server_->server().Drain(); });
  EXPECT_TRUE(session->Read().has_draining());
  faults_->dead = true;
  EXPECT_TRUE(Eventually([&] { return asked == 1; }));
  EXPECT_EQ(DriveUntilAccepted(*session).engine(), "cpu");
  EXPECT_TRUE(session->Close().ok());
  drain.join();
  EXPECT_FALSE(requests.for_restart());
  server_.reset();
  const auto store = OpenSqliteMapStore(folder.Path("maps"), {});
  ASSERT_TRUE(store.ok()) << store.status();
  const auto pose = (*store)->GetLastPose("test");
  ASSERT_TRUE(pose.ok()) << pose.status();
  EXPECT_EQ(pose->map, "town");
}

}  // namespace
}  // namespace voxloc::server
