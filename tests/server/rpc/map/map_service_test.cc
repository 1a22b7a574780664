// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/server/test_server.h"

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

}  // namespace
}  // namespace voxloc::server
