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

TEST(Server, RefusesAnAddressThatIsTaken) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  CommandLine second;
  second.config.log_level = "error";
  second.config.listen = server.server().address();
  second.config.metrics_listen = "off";
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kAlreadyExists);
  second.config.listen = "127.0.0.1:0";
  second.config.metrics_listen = server.server().metrics_address();
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kAlreadyExists);
  second.config.metrics_listen = "nonsense";
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Server, RefusesMoreSessionsThanAllowed) {
  TestServer server([](Config& config) { config.limits.max_sessions = 1; });
  server.LoadTown();
  TestSession first(server);
  first.Open();
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("town");
  {
    TestSession second(server);
    second.Send(open);
    EXPECT_FALSE(second.Read().has_opened());
    EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  first.Send(GoodScan());
  EXPECT_EQ(first.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
}

}  // namespace
}  // namespace voxloc::server
