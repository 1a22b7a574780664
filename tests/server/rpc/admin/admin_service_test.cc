// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

TEST(AdminService, TellsWhatItIs) {
  TestServer server([](Config& config) { config.limits.max_sessions = 77; });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(
      server.admin->GetServerInfo(TestServer::NewContext().get(), v1::GetServerInfoRequest(), &info)
          .ok());
  EXPECT_EQ(info.state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(info.engine(), "cpu");
  ASSERT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).kind(), v1::DEVICE_KIND_CPU);
  EXPECT_EQ(info.devices(0).threads(), 2);
  EXPECT_EQ(info.limits().max_sessions(), 77);
  EXPECT_EQ(info.profiles_size(), 2);
  EXPECT_EQ(info.default_profile(), Config().default_profile);
  EXPECT_EQ(info.open_sessions(), 1);
  EXPECT_EQ(info.maps(), 1);
  EXPECT_GE(info.now_ns(), info.started_at_ns());
}

TEST(AdminService, TellsItsConfiguration) {
  TestServer server;
  v1::GetConfigResponse config;
  ASSERT_TRUE(
      server.admin->GetConfig(TestServer::NewContext().get(), v1::GetConfigRequest(), &config)
          .ok());
  std::map<std::string, std::string> values;
  for (const v1::ConfigEntry& entry : config.entries()) values[entry.key()] = entry.value();
  EXPECT_EQ(values["listen"], "127.0.0.1:0");
  EXPECT_EQ(values["limits.max_sessions"], "1024");
}

TEST(AdminService, SetsTheLogLevel) {
  TestServer server;
  v1::SetLogLevelRequest request;
  v1::SetLogLevelResponse response;
  EXPECT_EQ(
      server.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
  request.set_level(v1::LOG_LEVEL_WARN);
  ASSERT_TRUE(server.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.previous_level(), v1::LOG_LEVEL_ERROR);
}

}  // namespace
}  // namespace voxloc::server
