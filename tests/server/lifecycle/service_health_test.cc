// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/plain_calls.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

TEST(ServiceHealth, IsReportedForEachServiceByName) {
  TestServer server;
  std::string response;
  for (const char* service :
       {"", "voxloc.v1.LocalizationService", "voxloc.v1.MapService", "voxloc.v1.AdminService"}) {
    ASSERT_TRUE(
        CallRaw(server, "/grpc.health.v1.Health/Check", HealthRequest(service), &response).ok())
        << service;
    EXPECT_EQ(response, kServing) << service;
  }
  EXPECT_EQ(CallRaw(server, "/grpc.health.v1.Health/Check", HealthRequest("other"), &response)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace voxloc::server
