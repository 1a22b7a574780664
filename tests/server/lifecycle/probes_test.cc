// SPDX-License-Identifier: Apache-2.0
//
// What a running server says to probes, over gRPC and over HTTP.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/lifecycle/health_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void WithProbes(Config& config) { config.metrics_listen = "127.0.0.1:0"; }

// Tiles are built once a gate is open.
class SlowlyBuildingEngine : public ForwardingEngine {
 public:
  explicit SlowlyBuildingEngine(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    gate_->Pass(1);
    return ForwardingEngine::DoBuildTile(cloud_map, statistics);
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

TEST(Probes, AreAnsweredByName) {
  TestServer server(WithProbes);
  for (const char* service :
       {"", "voxloc.v1.LocalizationService", "voxloc.v1.MapService", "voxloc.v1.AdminService"}) {
    EXPECT_EQ(HealthOf(server, service), kHealthServing) << service;
  }
  for (const char* service : {"other", "voxloc.v1.LocalizationService/town", "/",
                              "voxloc.v1.LocalizationService/", "voxloc.v1.MapService/town"}) {
    EXPECT_EQ(HealthOf(server, service), kHealthUnknown) << service;
  }
  EXPECT_EQ(PageOf(server, "/livez"), "200 alive\n");
  EXPECT_EQ(PageOf(server, "/readyz"), "200 ready\n");
  EXPECT_THAT(PageOf(server, "/metrics"), HasSubstr("\nvoxloc_sessions_active 0\n"));
  for (const char* path : {"/", "/readyz/", "/readyz/maps", "/readyz/maps/", "/metrics/x", "/x"}) {
    EXPECT_THAT(PageOf(server, path), StartsWith("404 ")) << path;
  }
}

TEST(Probes, FollowAMapThatComesAndGoes) {
  TestServer server(WithProbes);
  const std::string name = absl::StrCat(kLocalizationName, "/town");
  HealthWatcher watcher(server, name);
  EXPECT_EQ(watcher.Next(), kHealthUnknown);
  server.LoadTown();
  EXPECT_EQ(watcher.Next(), kHealthServing);
  EXPECT_EQ(HealthOf(server, name), kHealthServing);
  EXPECT_EQ(PageOf(server, "/readyz/maps/town"), "200 ready\n");
  ASSERT_TRUE(DeleteMap(server, "town").ok());
  EXPECT_EQ(watcher.Next(), kHealthUnknown);
  EXPECT_EQ(HealthOf(server, name), kHealthUnknown);
  EXPECT_EQ(PageOf(server, "/readyz/maps/town"), "404 not ready: no map \"town\"\n");
}

TEST(Probes, WaitForTheMapsOfTheStart) {
  const ScratchDir folder;
  const auto with_maps = [&folder](Config& config) {
    WithProbes(config);
    config.data_dir = folder.Path("maps");
    config.moments_cache = "off";
  };
  { TownServer server(with_maps); }
  const auto gate = std::make_shared<Gate>();
  gate->Close();
  TestServer server(with_maps, std::make_unique<SlowlyBuildingEngine>(gate));
  gate->AwaitBatches(1);
  EXPECT_EQ(PageOf(server, "/livez"), "200 alive\n");
  EXPECT_EQ(PageOf(server, "/readyz"), "503 not ready: starting: loading map town (0 %)\n");
  EXPECT_EQ(PageOf(server, "/readyz/maps/town"), "503 not ready: map town is being loaded (0 %)\n");
  EXPECT_EQ(HealthOf(server, ""), kHealthServing);
  EXPECT_EQ(HealthOf(server, "voxloc.v1.MapService"), kHealthNotServing);
  EXPECT_EQ(HealthOf(server, absl::StrCat(kLocalizationName, "/town")), kHealthNotServing);
  EXPECT_EQ(StateOf(server), v1::SERVER_STATE_STARTING);
  EXPECT_EQ(MetricsOf(server)["voxloc_server_state{state=\"starting\"}"], 1.0);
  HealthWatcher watcher(server, kLocalizationName);
  EXPECT_EQ(watcher.Next(), kHealthNotServing);
  gate->Open();
  EXPECT_EQ(watcher.Next(), kHealthServing);
  EXPECT_EQ(PageOf(server, "/readyz"), "200 ready\n");
  EXPECT_EQ(PageOf(server, "/readyz/maps/town"), "200 ready\n");
  EXPECT_EQ(StateOf(server), v1::SERVER_STATE_SERVING);
  auto metrics = MetricsOf(server);
  EXPECT_EQ(metrics["voxloc_server_state{state=\"serving\"}"], 1.0);
  EXPECT_EQ(metrics.at("voxloc_server_state{state=\"starting\"}"), 0.0);
  EXPECT_EQ(metrics["voxloc_server_ready"], 1.0);
}

TEST(Probes, OfHealthAreBounded) {
  TestServer server([](Config& config) { config.limits.max_watchers = 2; });
  auto first = std::make_unique<HealthWatcher>(server, "");
  HealthWatcher second(server, "");
  EXPECT_EQ(first->Next(), kHealthServing);
  EXPECT_EQ(second.Next(), kHealthServing);
  HealthWatcher third(server, "");
  EXPECT_EQ(third.Next(), grpc::health::v1::HealthCheckResponse::UNKNOWN);
  const grpc::Status refused = third.Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_WATCHERS");
  first.reset();
  EXPECT_TRUE(Eventually([&server] {
    HealthWatcher again(server, "");
    return again.Next() == kHealthServing;
  }));
}

}  // namespace
}  // namespace voxloc::server
