// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(Server, OffersReflection) {
  TestServer server;
  std::string response;
  const std::string list_services("\x3a\x00", 2);
  ASSERT_TRUE(CallRaw(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                      list_services, &response)
                  .ok());
  for (const char* service : {"voxloc.v1.LocalizationService", "voxloc.v1.MapService",
                              "voxloc.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(response, HasSubstr(service));
  }
}

// A tile of 12 MB in one message, to a server whose transport may hold so much.
bool TakesALargeTile(uint64_t transport_bytes) {
  TestServer server([transport_bytes](Config& config) {
    config.limits.max_transport_bytes = transport_bytes;
    config.limits.max_transport_threads = 2;
    config.limits.max_chunk_bytes = 16 << 20;
  });
  PointCloud cloud;
  for (int i = 0; i < 1'000'000; ++i) {
    cloud.PushBack(0.01F * static_cast<float>(i % 1000), 0.0F, 0.0F);
  }
  TestUpdate update(server);
  update.Write(BeginRequest("town"));
  EXPECT_TRUE(update.Read().has_begun());
  update.Write(TileRequest("large", cloud));
  const bool added = update.Read().has_tile_added();
  if (!added) {
    EXPECT_EQ(update.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  // Others are served.
  v1::ListMapsResponse maps;
  const auto context = TestServer::NewContext();
  EXPECT_TRUE(server.maps->ListMaps(context.get(), v1::ListMapsRequest(), &maps).ok());
  return added;
}

TEST(Server, HoldsItsTransportToAQuotaOfMemory) {
  EXPECT_TRUE(TakesALargeTile(uint64_t{64} << 20));
  EXPECT_FALSE(TakesALargeTile(uint64_t{4} << 20));
}

TEST(Server, TellsTheLimitsOfConnections) {
  TestServer server([](Config& config) {
    config.connections.max_open = 77;
    config.connections.stream_window_bytes = 100'000;
    config.connections.idle_timeout_s = 12.5;
  });
  const v1::GetServerInfoResponse info = ServerInfoOf(server);
  EXPECT_EQ(info.limits().max_connections(), 77u);
  EXPECT_EQ(info.limits().stream_window_bytes(), 100'000u);
  EXPECT_EQ(info.limits().connection_idle_timeout_s(), 12.5);
}

TEST(Server, RefusesAnAddressThatIsTaken) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  CommandLine second;
  second.config.log_level = "error";
  second.config.listen = server.server().address();
  second.config.metrics_listen = "off";
  const auto start = [&second] {
    return Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code();
  };
  EXPECT_EQ(start(), absl::StatusCode::kAlreadyExists);
  second.config.listen = "127.0.0.1:0";
  second.config.metrics_listen = server.server().metrics_address();
  EXPECT_EQ(start(), absl::StatusCode::kAlreadyExists);
  second.config.metrics_listen = "nonsense";
  EXPECT_EQ(start(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc::server
