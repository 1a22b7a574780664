// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

TEST(MapService, ListsMapsPageByPage) {
  TestServer server;
  for (const char* map : {"c", "a", "b"}) server.LoadTown(map);
  v1::ListMapsRequest request;
  request.set_page_size(2);
  v1::ListMapsResponse page;
  ASSERT_TRUE(server.maps->ListMaps(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.maps_size(), 2);
  EXPECT_EQ(page.maps(0).name(), "a");
  EXPECT_EQ(page.maps(1).name(), "b");
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(server.maps->ListMaps(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.maps_size(), 1);
  EXPECT_EQ(page.maps(0).name(), "c");
  EXPECT_EQ(page.next_page_token(), "");
}

TEST(MapService, DeletesAMapOnlyAtTheRevisionAskedFor) {
  TestServer server;
  server.LoadTown();
  v1::DeleteMapRequest request;
  request.set_map("town");
  request.set_revision(9);
  v1::DeleteMapResponse response;
  EXPECT_EQ(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).error_code(),
            grpc::StatusCode::ABORTED);
  request.set_revision(1);
  EXPECT_TRUE(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(MapService, RefusesToDeleteAMapInUseWhereItIsAskedTo) {
  TestServer server;
  server.LoadTown();
  v1::DeleteMapRequest request;
  request.set_map("town");
  request.set_unless_in_use(true);
  v1::DeleteMapResponse response;
  {
    TestSession session(server, "town");
    const grpc::Status refused =
        server.maps->DeleteMap(TestServer::NewContext().get(), request, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(ReasonOf(refused), "MAP_IN_USE");
    EXPECT_THAT(refused.error_message(), ::testing::HasSubstr("1 session uses map \"town\""));
    EXPECT_TRUE(session.Close().ok());
  }
  EXPECT_TRUE(Eventually([&] {
    return server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).ok();
  }));
}

TEST(MapService, TakesADeletionBack) {
  TestServer server;
  server.LoadTown();
  v1::UndeleteMapRequest request;
  request.set_map("town");
  v1::UndeleteMapResponse response;
  const auto undelete = [&] {
    return server.maps->UndeleteMap(TestServer::NewContext().get(), request, &response);
  };
  EXPECT_EQ(undelete().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  TestSession session(server, "town");
  ASSERT_EQ(session.Align(GoodScan(1)).status(), v1::ALIGNMENT_STATUS_OK);
  ASSERT_TRUE(DeleteMap(server, "town").ok());
  EXPECT_EQ(session.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_NO_MAP);
  ASSERT_TRUE(undelete().ok());
  EXPECT_EQ(response.map().name(), "town");
  EXPECT_EQ(response.map().revision(), 1u);
  uint64_t sequence = 3;
  EXPECT_TRUE(Eventually([&] {  // its tiles are loaded first
    return session.Align(GoodScan(sequence++)).status() == v1::ALIGNMENT_STATUS_OK;
  }));
  request.set_map("moon");
  EXPECT_EQ(undelete().error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace voxloc::server
