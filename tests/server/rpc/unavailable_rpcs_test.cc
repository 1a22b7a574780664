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
  v1::DrainResponse drained;
  EXPECT_EQ(server.admin->Drain(TestServer::NewContext().get(), v1::DrainRequest(), &drained)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  const auto expect = [](const auto& reader) {
    const grpc::Status status = reader->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr("not yet available"));
  };
  const auto tiles = TestServer::NewContext();
  expect(server.maps->GetTiles(tiles.get(), v1::GetTilesRequest()));
  const auto cells = TestServer::NewContext();
  expect(server.maps->GetCells(cells.get(), v1::GetCellsRequest()));
  const auto watch = TestServer::NewContext();
  expect(server.maps->WatchMap(watch.get(), v1::WatchMapRequest()));
}

}  // namespace
}  // namespace voxloc::server
