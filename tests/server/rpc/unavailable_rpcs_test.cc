// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(UnavailableRpcs, SayThatTheyAreNotYetAvailable) {
  TestServer server;
  v1::ListCapturesResponse captures;
  const grpc::Status status = server.admin->ListCaptures(TestServer::NewContext().get(),
                                                         v1::ListCapturesRequest(), &captures);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("not yet available"));
}

}  // namespace
}  // namespace voxloc::server
